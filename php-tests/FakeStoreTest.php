<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** The fake that an application's tests put in the default store's place. */
final class FakeStoreTest extends TestCase
{
    public function testReachesALimiterThatWasMadeBefore(): void
    {
        $limiter = new TokenBucketLimiter();
        self::assertSame(Source::SharedMemory, $limiter->attempt(self::freshKey(), 1, 1)->source);
        Store::fake();
        self::assertSame(Source::Memory, $limiter->attempt('k', 1, 1)->source);
    }

    public function testReachesTheFunction(): void
    {
        $store = Store::fake();
        self::assertTrue(fixed_window_limit('k', 1));
        self::assertFalse(fixed_window_limit('k', 1));
        $store->advance(1);
        self::assertTrue(fixed_window_limit('k', 1));
    }

    public function testDoesNotReachALimiterWithAStoreOfItsOwn(): void
    {
        Store::fake();
        $limiter = new TokenBucketLimiter(Store::sharedMemory());
        self::assertSame(Source::SharedMemory, $limiter->attempt(self::freshKey(), 1, 1)->source);
    }

    public function testItsClockStandsStillUntilItIsMoved(): void
    {
        $store = Store::fake();
        $limiter = new TokenBucketLimiter();
        $limiter->allow('k', 1, 1_000_000);
        // A microsecond of real time has long gone by.
        self::assertFalse($limiter->allow('k', 1, 1_000_000));
        $store->advance(0.000_001);
        self::assertTrue($limiter->allow('k', 1, 1_000_000));
    }

    public function testEveryFakeIsANewOne(): void
    {
        $limiter = new FixedWindowLimiter();
        Store::fake();
        $limiter->allow('k', 1, 60);
        Store::fake();
        self::assertTrue($limiter->allow('k', 1, 60));
    }

    public function testCanBeGivenToALimiterAndOutlivesItsPlace(): void
    {
        $store = Store::fake();
        $limiter = new TokenBucketLimiter($store);
        $limiter->allow('k', 1, 1);
        Store::restore();
        self::assertSame(Source::Memory, $limiter->attempt('k', 1, 1)->source);
        $store->advance(1);
        self::assertTrue($limiter->allow('k', 1, 1));
    }

    public function testRestoringBringsBackWhatTheRealStoreHad(): void
    {
        $limiter = new FixedWindowLimiter();
        $key = self::freshKey();
        $limiter->allow($key, 1, 3600);
        Store::fake();
        self::assertTrue($limiter->allow($key, 1, 3600));
        Store::restore();
        self::assertFalse($limiter->allow($key, 1, 3600));
    }

    public function testRestoringWithoutAFakeDoesNothing(): void
    {
        Store::restore();
        Store::restore();
        self::assertSame('shared-memory', Store::sharedMemory()->status()['store']);
    }

    /** @dataProvider times */
    public function testShowsTheTimeItWasGiven(mixed $at, string $aSecondLater): void
    {
        Store::fake($at);
        $headers = (new TokenBucketLimiter())->attempt('k', 1, 1)->headers();
        self::assertSame($aSecondLater, $headers['X-RateLimit-Reset']);
    }

    public static function times(): iterable
    {
        yield 'a float' => [1_700_000_000.25, '1700000002'];
        yield 'an int' => [1_700_000_000, '1700000001'];
        yield 'the start of Unix time' => [0, '1'];
        yield 'an immutable object' => [new \DateTimeImmutable('2024-02-29T12:00:00.000001Z'), '1709208002'];
        yield 'an object in another zone' => [new \DateTime('2024-02-29T20:00:00+08:00'), '1709208001'];
    }

    public function testShowsTheTimeOfNowIfItWasGivenNone(): void
    {
        foreach ([fn () => Store::fake(), fn () => Store::fake(null)] as $fake) {
            $before = time();
            $fake();
            $after = time();
            $reset = (int) (new TokenBucketLimiter())->attempt('k', 1, 1)->headers()['X-RateLimit-Reset'];
            self::assertGreaterThanOrEqual($before + 1, $reset);
            self::assertLessThanOrEqual($after + 2, $reset);
        }
    }
}
