<?php

declare(strict_types=1);

namespace Sluice\Tests\Http;

use Sluice\Http\Facts;
use Sluice\Http\Guard;
use Sluice\Http\Key;
use Sluice\Http\Policies;
use Sluice\Limit;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;

/** Two users never share a count, and nobody chooses his own. */
final class KeysTest extends TestCase
{
    public function testKeysOfDifferentPartsAreDifferent(): void
    {
        $lists = [
            [], [''], ['', ''], ['a'], ['a', ''], ['', 'a'], ['a,b'], ['a', 'b'], ['1:a'], ['1', 'a'], ['1:a,1:b'],
            ['a,1:b'], ["a\0b"], ["a\0", 'b'], ['josé'], ['jose'], ["jose\u{301}"], ['a<b'], ['alb'], ['a&lt;b'], ['A'],
        ];
        $keys = array_map(fn (array $parts) => Key::of(...$parts), $lists);
        self::assertCount(count($lists), array_unique($keys));
    }

    public function testUsersAndAddressesNeverMeet(): void
    {
        Store::fake();
        $guard = new Guard();
        $people = [
            new Facts('203.0.113.1', 'r'), new Facts('203.0.113.2', 'r'),
            new Facts('203.0.113.1', 'r', '1'), new Facts('203.0.113.1', 'r', '01'), new Facts('203.0.113.1', 'r', ''),
            new Facts('203.0.113.1', 'r', 'a<b'), new Facts('203.0.113.1', 'r', 'alb'),
            new Facts('203.0.113.1', 'r', 'josé'), new Facts('203.0.113.1', 'r', 'jose'),
            new Facts('203.0.113.1', 'r', '203.0.113.2'), new Facts('203.0.113.1', 'r', '1', realm: 'staff'),
            new Facts('203.0.113.1', 'other', '1'),
        ];
        foreach ($people as $number => $facts) {
            $limit = Policies::keyed(Limit::slidingWindow(1, 60), $facts);
            self::assertTrue($guard->check($facts, $limit)->allowed, "number {$number} shares with one before");
            self::assertFalse($guard->check($facts, $limit)->allowed);
        }
    }

    public function testAnAccountIsOneHoweverItIsWritten(): void
    {
        $account = fn (mixed $value) => (new Facts('::1', 'r', input: fn (string $field) => $value))->account('email');
        self::assertSame($account('josé@example.com'), $account(" JOSÉ@Example.COM\n"));
        self::assertNotSame($account('josé@example.com'), $account('jose@example.com'));
        self::assertSame($account(null), $account(['an', 'array']), 'leaving it out is no way around it');
        self::assertSame($account(''), (new Facts('::1', 'r'))->account('email'));
        self::assertSame($account(7), $account('7'));
        self::assertNotSame($account("\xff"), $account("\xfe"));
        self::assertNotSame(
            (new Facts('::1', 'r', input: fn () => 'x'))->account('email'),
            (new Facts('::1', 'r', input: fn () => 'x'))->account('phone'),
        );
    }

    public function testWithoutARouterTheRouteIsTheScript(): void
    {
        $route = fn (array $server) => Facts::ofServer($server)->route;
        $script = ['SCRIPT_FILENAME' => __FILE__];
        self::assertSame(__FILE__, $route($script));
        self::assertSame(__FILE__, $route(['SCRIPT_FILENAME' => dirname(__DIR__) . '//Http/./' . basename(__FILE__)]));
        // Neither of these is another route: a client may write what it likes.
        self::assertSame($route($script), $route($script + ['REQUEST_METHOD' => 'FOO1', 'SCRIPT_NAME' => '/x/1']));
        self::assertSame($route($script), $route($script + ['REQUEST_URI' => '/report?a=1', 'PATH_INFO' => '/1']));
        self::assertSame('/gone.php', $route(['SCRIPT_FILENAME' => '/gone.php']));
        self::assertSame('', $route([]));
    }

    public function testTheFactsOfPlainPhp(): void
    {
        $facts = Facts::ofServer(
            [
                'REMOTE_ADDR' => '203.0.113.9', 'REQUEST_METHOD' => 'PUT', 'REQUEST_URI' => '/a?b',
                'HTTP_X_FORWARDED_FOR' => ['x'],
            ],
            route: 'report',
            user: '42',
        );
        self::assertSame(
            ['203.0.113.9', 'report', '42', 'PUT', '/a?b'],
            [$facts->ip, $facts->route, $facts->user, $facts->method, $facts->uri],
        );
        self::assertSame(Key::of('user', '42'), $facts->client());
        self::assertSame(Key::of('ip', '203.0.113.9'), $facts->address());
    }
}
