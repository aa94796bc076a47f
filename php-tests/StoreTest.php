<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** Stores as objects: which one is asked, and what it tells of itself. */
final class StoreTest extends TestCase
{
    /** @dataProvider stores */
    public function testALimiterAsksTheStoreItWasGiven(callable $store, Source $source): void
    {
        $decision = (new TokenBucketLimiter($store()))->attempt(self::freshKey(), 1, 1);
        self::assertSame($source, $decision->source);
    }

    public static function stores(): iterable
    {
        yield 'shared memory' => [Store::sharedMemory(...), Source::SharedMemory];
        yield 'Redis' => [fn () => Store::redis(RedisServer::start()->dsn()), Source::Redis];
        yield 'a DSN' => [fn () => RedisServer::start()->dsn(), Source::Redis];
        yield 'memory' => [Store::memory(...), Source::Memory];
        yield 'null' => [fn () => null, Source::SharedMemory];
    }

    public function testLimitersOfOneStoreCountTogether(): void
    {
        $store = Store::memory();
        (new TokenBucketLimiter($store))->attempt('k', 5, 1, requested: 2);
        self::assertSame(3, (new TokenBucketLimiter($store))->peek('k', 5, 1)->remaining);
    }

    public function testEveryMemoryStoreIsANewOne(): void
    {
        (new FixedWindowLimiter(Store::memory()))->allow('k', 1, 60);
        self::assertTrue((new FixedWindowLimiter(Store::memory()))->allow('k', 1, 60));
    }

    public function testTheClockOfAMemoryStoreCanBeMovedAhead(): void
    {
        $store = Store::memory();
        $limiter = new FixedWindowLimiter($store);
        $limiter->allow('k', 1, 3600);
        $store->advance(3600);
        self::assertTrue($limiter->allow('k', 1, 3600));
    }

    /** @dataProvider storesUnderRealTime */
    public function testTheClockOfARealStoreCannotBeMoved(Store $store): void
    {
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('only a store made by Store::fake() or Store::memory() has a clock to advance');
        $store->advance(1);
    }

    public static function storesUnderRealTime(): iterable
    {
        yield 'shared memory' => [Store::sharedMemory()];
        yield 'Redis' => [Store::redis('redis://127.0.0.1')];
    }

    public function testTheStatusOfAMemoryStoreCountsItsKeys(): void
    {
        $store = Store::memory();
        self::assertSame(['store' => 'memory', 'keys' => 0], $store->status());
        $limiter = new TokenBucketLimiter($store);
        $limiter->allow('one', 1, 1);
        $limiter->allow('two', 1, 1);
        self::assertSame(['store' => 'memory', 'keys' => 2], $store->status());
    }

    public function testTheStatusOfSharedMemoryTellsHowFullItIs(): void
    {
        $store = Store::sharedMemory();
        $before = $store->status()['sharedMemory'];
        (new FixedWindowLimiter($store))->allow(self::freshKey(), 1, 3600);
        self::assertSame(['size', 'slots', 'live', 'evictions', 'path'], array_keys($before));
        self::assertSame(
            ['store' => 'shared-memory', 'sharedMemory' => array_replace($before, ['live' => $before['live'] + 1])],
            $store->status(),
        );
    }

    public function testTheStatusOfRedisTellsOfTheConnection(): void
    {
        $server = RedisServer::start();
        $store = Store::redis($server->dsn('db=2'));
        $expected = [
            'dsn' => $server->shownDsn(2),
            'topology' => 'standalone',
            'node' => preg_replace('~^unix://|\?.*~', '', $server->shownDsn(2)),
            'connected' => false,
            'connections' => 0,
            'calls' => 0,
            'faults' => 0,
            'lastFault' => null,
        ];
        self::assertSame('redis', $store->status()['store']);
        self::assertSame($expected, $store->status()['redis']);

        (new TokenBucketLimiter($store))->allow('k', 5, 1);
        $expected = array_replace($expected, ['connected' => true, 'connections' => 1, 'calls' => 1]);
        self::assertSame($expected, $store->status()['redis']);

        $server->stop();
        (new TokenBucketLimiter($store))->allow('k', 5, 1);
        $status = $store->status();
        self::assertFalse($status['redis']['connected']);
        self::assertSame([2, 1], [$status['redis']['calls'], $status['redis']['faults']]);
        self::assertStringStartsWith($server->shownDsn(2) . ': ', $status['redis']['lastFault']);
        self::assertArrayHasKey('sharedMemory', $status);
    }
}
