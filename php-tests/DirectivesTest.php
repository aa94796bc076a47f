<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** A directive that changes while PHP runs applies from the next call on. */
final class DirectivesTest extends TestCase
{
    public function testTheStoreOfALimiterMadeBefore(): void
    {
        $limiter = new TokenBucketLimiter();
        $key = self::freshKey();
        self::assertSame(Source::SharedMemory, $limiter->attempt($key, 5, 1)->source);
        ini_set('sluice.store', RedisServer::start()->dsn());
        self::assertSame(Source::Redis, $limiter->attempt($key, 5, 1)->source);
        ini_restore('sluice.store');
        self::assertSame(3, $limiter->attempt($key, 5, 1)->remaining);
    }

    public function testThePrefix(): void
    {
        $server = RedisServer::start();
        ini_set('sluice.store', $server->dsn());
        ini_set('sluice.prefix', 'shop:');
        (new TokenBucketLimiter())->allow('k', 5, 1);
        self::assertStringStartsWith('shop:{', $server->keys()[0]);
    }

    public function testThePrefixSetsApplicationsApartInSharedMemoryToo(): void
    {
        $key = self::freshKey();
        $allowed = static function (string $prefix) use ($key): array {
            ini_set('sluice.prefix', $prefix);
            $limiter = new \Sluice\Limiter();
            $permits = new \Sluice\Limiter(Store::sharedMemory());
            return [
                $limiter->allow($key, '1/d'),
                $limiter->allow($key, '1/d fixed'),
                $permits->acquire($key, '1 concurrent') !== null,
            ];
        };
        self::assertSame([true, true, true], $allowed('shop:'));
        self::assertSame([true, true, true], $allowed('blog:'), 'none of the other');
        self::assertSame([false, false, false], $allowed('shop:'), 'all of its own');
    }

    public function testADirectiveIsReadWithSpacesAroundItAndInAnyCase(): void
    {
        ini_set('sluice.mode', ' Off ');
        self::assertTrue(fixed_window_limit(self::freshKey(), 0));
    }

    public function testTheSizeOfTheSharedMemory(): void
    {
        $status = Store::sharedMemory()->status()['sharedMemory'];
        // What was asked for is for keys; about a half comes on top.
        self::assertSame(intdiv(32 << 20, 16), $status['slots']);
        self::assertGreaterThan(32 << 20, $status['size']);
        self::assertLessThanOrEqual(50 << 20, $status['size']);
    }
}
