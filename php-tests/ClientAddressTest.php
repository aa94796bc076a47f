<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\ClientAddress;
use Sluice\Http\Facts;
use Sluice\Tests\Support\TestCase;

/** Whoever writes the header, the address is one that an honest proxy saw. */
final class ClientAddressTest extends TestCase
{
    private const PROXIES = ['10.0.0.0/8', '2001:db8:ffff::/48'];

    /** @dataProvider requests */
    public function testWhoIsAtTheOtherEnd(string $expected, string $remote, string $forwarded): void
    {
        self::assertSame($expected, (new ClientAddress(self::PROXIES))->of($remote, $forwarded));
    }

    public static function requests(): iterable
    {
        yield 'nobody in between' => ['203.0.113.9', '203.0.113.9', ''];
        yield 'a client that lies' => ['203.0.113.9', '203.0.113.9', '1.2.3.4'];
        yield 'a client that claims to be a proxy' => ['203.0.113.9', '203.0.113.9', '10.0.0.1'];
        yield 'one proxy' => ['203.0.113.9', '10.0.0.1', '203.0.113.9'];
        yield 'two proxies' => ['203.0.113.9', '10.0.0.1', '203.0.113.9, 10.0.0.7'];
        yield 'a lie before one proxy' => ['203.0.113.9', '10.0.0.1', '1.2.3.4, 203.0.113.9'];
        yield 'a lie that looks like proxies' => ['203.0.113.9', '10.0.0.1', '1.2.3.4, 10.0.0.9, 203.0.113.9'];
        yield 'proxies only' => ['10.0.0.8', '10.0.0.1', '10.0.0.8, 10.0.0.7'];
        yield 'a proxy that says nothing' => ['10.0.0.1', '10.0.0.1', ''];
        yield 'a proxy that hides its client' => ['10.0.0.7', '10.0.0.1', '1.2.3.4, unknown, 10.0.0.7'];
        yield 'a port' => ['203.0.113.9', '10.0.0.1', '203.0.113.9:4711'];
        yield 'ports at proxies' => ['203.0.113.9', '10.0.0.1', '203.0.113.9:4711, 10.0.0.7:80'];
        yield 'IPv6' => ['2001:db8::9', '2001:db8:ffff::1', '2001:db8::9'];
        yield 'IPv6 in brackets, with a port' => ['2001:db8::9', '10.0.0.1', '[2001:db8::9]:4711'];
        yield 'IPv6 in brackets' => ['2001:db8::9', '10.0.0.1', '[2001:db8::9]'];
        yield 'a proxy in IPv6 clothes' => ['203.0.113.9', '::ffff:10.0.0.1', '203.0.113.9'];
        yield 'a mapped hop' => ['203.0.113.9', '10.0.0.1', '203.0.113.9, ::ffff:10.0.0.7'];
        yield 'commas and nothing between' => ['203.0.113.9', '10.0.0.1', ' ,, 203.0.113.9'];
        yield 'commas at the end' => ['10.0.0.1', '10.0.0.1', '203.0.113.9,,'];
        yield 'no spaces' => ['203.0.113.9', '10.0.0.1', '1.2.3.4,203.0.113.9,10.0.0.7'];
        yield 'tabs' => ['203.0.113.9', '10.0.0.1', "1.2.3.4,\t203.0.113.9\t"];
        yield 'numbers that are no address' => ['10.0.0.1', '10.0.0.1', '3405803785'];
        yield 'octal' => ['10.0.0.1', '10.0.0.1', '0313.0.0161.011'];
        yield 'a name' => ['10.0.0.1', '10.0.0.1', 'localhost'];
        yield 'a zone' => ['fe80::1', '10.0.0.1', 'fe80::1%eth0'];
        yield 'markup' => ['10.0.0.1', '10.0.0.1', "<script>'\"--\r\nX-Other: 1"];
        yield 'a NUL' => ['10.0.0.1', '10.0.0.1', "203.0.113.9\0.example.com"];
        yield 'no UTF-8' => ['10.0.0.1', '10.0.0.1', "\xff\xfe"];
        yield 'no address at all' => ['', '', '203.0.113.9'];
        yield 'a socket' => ['unix:', 'unix:', '203.0.113.9'];
    }

    public function testWithoutProxiesNoHeaderIsBelieved(): void
    {
        self::assertSame('10.0.0.1', (new ClientAddress())->of('10.0.0.1', '203.0.113.9'));
        $facts = Facts::ofServer(['REMOTE_ADDR' => '10.0.0.1', 'HTTP_X_FORWARDED_FOR' => '203.0.113.9']);
        self::assertSame('10.0.0.1', $facts->ip);
    }

    public function testAProxyOnASocketIsBelievedWhereItIsNamed(): void
    {
        self::assertSame('203.0.113.9', (new ClientAddress(['unix']))->of('unix:', '1.2.3.4, 203.0.113.9'));
    }

    public function testWhatIsNoNetworkIsSaidAtOnce(): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('Argument #1 ($trustedProxies) takes an address or a network such as 10.0.0.0/8, or "unix"; found "here"');
        new ClientAddress(['unix', 'here']);
    }

    public function testTheWholeNetTrusted(): void
    {
        $address = new ClientAddress(['0.0.0.0/0', '::/0']);
        self::assertSame('1.2.3.4', $address->of('203.0.113.9', '1.2.3.4, 2001:db8::1'));
    }

    public function testAHeaderOfManyHopsIsNoBurden(): void
    {
        $hops = str_repeat('10.0.0.7,', 20_000) . '203.0.113.9';
        self::assertSame('203.0.113.9', (new ClientAddress(self::PROXIES))->of('10.0.0.1', $hops));
    }

    /** @dataProvider networks */
    public function testWhatCountsAsOneClient(string $expected, string $address): void
    {
        self::assertSame($expected, ClientAddress::network($address));
    }

    public static function networks(): iterable
    {
        yield 'IPv4' => ['203.0.113.9', '203.0.113.9'];
        yield 'IPv4 in IPv6 clothes' => ['203.0.113.9', '::ffff:203.0.113.9'];
        yield 'the same in hexadecimal' => ['203.0.113.9', '::FFFF:cb00:7109'];
        yield 'IPv6' => ['2001:db8:1:2::/64', '2001:db8:1:2:3:4:5:6'];
        yield 'a neighbour in the /64' => ['2001:db8:1:2::/64', '2001:DB8:1:2:ffff:ffff:ffff:ffff'];
        yield 'the next /64' => ['2001:db8:1:3::/64', '2001:db8:1:3::1'];
        yield 'the machine itself' => ['::/64', '::1'];
        yield 'no address' => ['unix:', 'unix:'];
        yield 'nothing' => ['', ''];
    }

    public function testWalkingThroughANetworkChangesNothing(): void
    {
        $keys = array_map(fn (int $n) => (new Facts('2001:db8:1:2::' . dechex($n), 'r'))->client(), range(0, 999));
        self::assertCount(1, array_unique($keys));
    }
}
