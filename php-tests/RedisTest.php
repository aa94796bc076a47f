<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** Redis as a store: how to get there, and what stands there afterwards. */
final class RedisTest extends TestCase
{
    public function testOverTcp(): void
    {
        $server = RedisServer::startOnPort();
        self::assertDecides($server->tcpDsn());
        self::assertDecides($server->tcpDsn(host: 'localhost'));
    }

    public function testOverAUnixSocket(): void
    {
        self::assertDecides(RedisServer::start()->dsn());
    }

    public function testWithAPassword(): void
    {
        $server = RedisServer::startOnPort(password: 'p@ss/word');
        self::assertDecides($server->tcpDsn(':p%40ss%2Fword@'));
        self::assertDecides($server->dsn('password=p%40ss%2Fword'));
        self::assertDecides(Store::redis($server->dsn(), ['password' => 'p@ss/word']));
    }

    public function testAWrongPasswordIsAFaultThatSaysSo(): void
    {
        $server = RedisServer::start(password: 'right');
        $store = Store::redis($server->dsn('password=wrong'));
        self::assertSame(Source::Fallback, (new TokenBucketLimiter($store))->attempt('k', 1, 1)->source);
        self::assertStringContainsString('AUTH was answered with WRONGPASS', $store->status()['redis']['lastFault']);
    }

    public function testWithAUserWhoMayDoNoMoreThanNeeded(): void
    {
        $server = RedisServer::startOnPort();
        $server->command(
            ...['ACL', 'SETUSER', 'app', 'on', '>secret', '~sluice:*', '-@all'],
            ...['+evalsha', '+script|load', '+get', '+set', '+del', '+time'],
        );
        self::assertDecides($server->tcpDsn('app:secret@'));
        self::assertDecides($server->dsn('user=app&password=secret'));
        (new TokenBucketLimiter($server->tcpDsn('app:secret@')))->reset('k');
        self::assertSame(0, Store::redis($server->tcpDsn('app:secret@'))->status()['redis']['faults']);
    }

    public function testInADatabaseOfItsNumber(): void
    {
        $server = RedisServer::startOnPort();
        self::assertDecides($server->tcpDsn(path: '/3'));
        self::assertDecides($server->dsn('db=4'));
        self::assertDecides(Store::redis($server->dsn(), ['db' => 5]));
        $databases = $server->command('INFO', 'keyspace');
        preg_match_all('/^db(\d+):keys=2,/m', $databases, $found);
        self::assertSame(['3', '4', '5'], $found[1]);
    }

    public function testADatabaseThatIsNotThereIsAFaultThatSaysSo(): void
    {
        $store = Store::redis(RedisServer::start()->dsn('db=99'));
        self::assertSame(Source::Fallback, (new TokenBucketLimiter($store))->attempt('k', 1, 1)->source);
        self::assertStringContainsString('SELECT was answered with ERR', $store->status()['redis']['lastFault']);
    }

    public function testKeysCarryThePrefixOfTheDsn(): void
    {
        $server = RedisServer::start();
        (new TokenBucketLimiter($server->dsn('prefix=shop:')))->allow('alice', 5, 1);
        self::assertMatchesRegularExpression('/^shop:\{[0-9a-f]{16}\}\w+.*alice$/', $server->keys()[0]);
    }

    public function testTwoPrefixesAreCountedApart(): void
    {
        $server = RedisServer::start();
        (new FixedWindowLimiter($server->dsn('prefix=one:')))->allow('k', 1, 3600);
        self::assertTrue((new FixedWindowLimiter($server->dsn('prefix=two:')))->allow('k', 1, 3600));
    }

    /** A counter that never expires blocks its client for ever. */
    public function testEveryKeyExpiresAndNotBeforeItsLimit(): void
    {
        $server = RedisServer::start();
        (new TokenBucketLimiter($server->dsn()))->attempt('k', 100, 2, requested: 100);
        (new FixedWindowLimiter($server->dsn()))->attempt('k', 100, 50);
        $keys = $server->keys();
        self::assertCount(2, $keys);
        foreach ($keys as $key) {
            $ttl = $server->command('PTTL', $key) / 1000;
            // Full again, or over, in 50 s; a second's margin on top.
            self::assertGreaterThan(45, $ttl, $key);
            self::assertLessThanOrEqual(51.001, $ttl, $key);
        }
    }

    public function testARefusalAndAPeekWriteNothing(): void
    {
        $server = RedisServer::start();
        $limiter = new TokenBucketLimiter($server->dsn());
        $limiter->peek('k', 1, 1);
        $limiter->attempt('k', 1, 1, requested: 2);
        self::assertSame([], $server->keys());
    }

    public function testResetDeletesTheKey(): void
    {
        $server = RedisServer::start();
        $limiter = new TokenBucketLimiter($server->dsn());
        $limiter->allow('k', 1, 1);
        $limiter->reset('k');
        self::assertSame([], $server->keys());
    }

    public function testALimiterMadeAnewAThousandTimesCostsOneConnectionAndLoadsEachScriptOnce(): void
    {
        $server = RedisServer::start();
        $server->resetStatistics();
        for ($made = 0; $made < 1000; $made++) {
            (new TokenBucketLimiter($server->dsn()))->allow('k', 2000, 1);
            (new FixedWindowLimiter(Store::redis($server->dsn())))->allow('k', 2000, 60);
        }
        self::assertSame(1, $server->statistic('stats', 'total_connections_received'));
        self::assertSame(6, $server->callsOf('script|load'));
        self::assertSame(6, $server->statistic('memory', 'number_of_cached_scripts'));
        self::assertSame(2000, $server->callsOf('evalsha'));
    }

    public function testAnApplicationThatMakesUpDsnsDoesNotGrowForEver(): void
    {
        $server = RedisServer::start();
        for ($made = 0; $made < 500; $made++) {
            (new TokenBucketLimiter($server->dsn("prefix={$made}:")))->allow('k', 1, 1);
        }
        self::assertLessThan(100, $server->statistic('clients', 'connected_clients'));
    }

    public function testAServerThatForgotTheScriptsIsGivenThemAgain(): void
    {
        $server = RedisServer::start();
        $limiter = new TokenBucketLimiter($server->dsn());
        $limiter->allow('k', 5, 1 / 3600);
        $server->command('SCRIPT', 'FLUSH');
        $decision = $limiter->attempt('k', 5, 1 / 3600);
        self::assertSame([Source::Redis, 3], [$decision->source, $decision->remaining]);
    }

    public function testALimitOfNothingNeedsNoRedis(): void
    {
        $decision = (new TokenBucketLimiter(RedisServer::absent()->dsn()))->attempt('k', 0, 1);
        self::assertFalse($decision->allowed);
        self::assertSame(Source::Redis, $decision->source);
    }

    private static function assertDecides(string|Store $store): void
    {
        $key = self::freshKey();
        $bucket = (new TokenBucketLimiter($store))->attempt($key, 5, 1);
        $window = (new FixedWindowLimiter($store))->attempt($key, 5, 60, requested: 2);
        self::assertSame([Source::Redis, 4], [$bucket->source, $bucket->remaining]);
        self::assertSame([Source::Redis, 3], [$window->source, $window->remaining]);
    }
}
