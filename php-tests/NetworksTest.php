<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Networks;
use Sluice\Tests\Support\TestCase;

/** Inside and outside, to the bit. */
final class NetworksTest extends TestCase
{
    /** @dataProvider addresses */
    public function testInsideAndOutside(?string $expected, string $network, string $address): void
    {
        self::assertSame($expected, (new Networks([$network]))->find($address));
    }

    public static function addresses(): iterable
    {
        $cases = [
            ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0', '::10.0.0.1']],
            ['10.0.0.0/9', ['::ffff:10.1.2.3'], ['::ffff:10.128.0.0']],
            ['192.0.2.128/25', ['192.0.2.128', '192.0.2.255'], ['192.0.2.127', '192.0.3.128']],
            ['192.0.2.7', ['192.0.2.7'], ['192.0.2.6', '192.0.2.8', '192.0.2.07', '192.0.2']],
            ['192.0.2.7/32', ['192.0.2.7'], ['192.0.2.6']],
            ['192.0.2.99/24', ['192.0.2.1'], ['192.0.3.1']],
            ['0.0.0.0/0', ['255.255.255.255', '0.0.0.0'], ['::1', '', 'unix:']],
            ['2001:db8::/33', ['2001:db8:7fff::1', '2001:DB8:0::'], ['2001:db8:8000::', '2001:db7::']],
            ['::1', ['::1', '0:0:0:0:0:0:0:1'], ['::2', '127.0.0.1']],
            ['::/0', ['::', 'ffff::1'], ['10.0.0.1', '::ffff:10.0.0.1']],
        ];
        foreach ($cases as [$network, $inside, $outside]) {
            foreach ($inside as $address) {
                yield "{$address} in {$network}" => [$network, $network, $address];
            }
            foreach ($outside as $address) {
                yield "{$address} not in {$network}" => [null, $network, $address];
            }
        }
    }

    /** @dataProvider mistakes */
    public function testWhatIsNoNetworkIsSaidAtOnce(string $text): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage("\"{$text}\"");
        new Networks(['10.0.0.0/8', $text]);
    }

    public static function mistakes(): iterable
    {
        yield 'nothing' => [''];
        foreach (['10.0.0.0/33', '::/129', '10.0.0.0/-1', '10.0.0.0/', '10.0.0/8', '10.0.0.0/8/8', 'here', '*'] as $text) {
            yield $text => [$text];
        }
    }

    public function testANumberIsNoNetwork(): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('Argument #1 ($networks) must be a list of strings, one network each');
        new Networks([10]);
    }

    public function testTheFirstThatHoldsItIsNamed(): void
    {
        $networks = new Networks(['10.1.0.0/16', '10.0.0.0/8']);
        self::assertSame(['10.1.0.0/16', '10.0.0.0/8'], [$networks->find('10.1.2.3'), $networks->find('10.2.2.3')]);
        self::assertNull((new Networks([]))->find('10.1.2.3'));
    }
}
