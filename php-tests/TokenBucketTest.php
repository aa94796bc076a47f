<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** What a token bucket promises, under a clock that only the test moves. */
final class TokenBucketTest extends TestCase
{
    private Store $store;
    private TokenBucketLimiter $limiter;

    protected function setUp(): void
    {
        $this->store = Store::fake(1_700_000_000.0);
        $this->limiter = new TokenBucketLimiter();
    }

    public function testANewBucketIsFullAndLetsItsCapacityThroughAtOnce(): void
    {
        $allowed = array_map(fn () => $this->limiter->allow('k', 3, 1), range(1, 4));
        self::assertSame([true, true, true, false], $allowed);
    }

    public function testTokensComeBackAtTheRate(): void
    {
        $this->limiter->attempt('k', 10, 4, requested: 10);
        $this->store->advance(0.249_999);
        self::assertFalse($this->limiter->allow('k', 10, 4));
        $this->store->advance(0.000_001);
        self::assertTrue($this->limiter->allow('k', 10, 4));
    }

    public function testNoFractionOfATokenIsLostHoweverOftenItIsAsked(): void
    {
        // Three a second, asked every 10 ms: no step brings a whole token.
        $this->limiter->attempt('k', 2, 3, requested: 2);
        $admitted = 0;
        for ($step = 0; $step < 10_000; $step++) {
            $this->store->advance(0.01);
            $admitted += (int) $this->limiter->allow('k', 2, 3);
        }
        self::assertSame(300, $admitted);
    }

    public function testIdleTimeFillsTheBucketAndNoMore(): void
    {
        $this->limiter->attempt('k', 5, 1, requested: 5);
        $this->store->advance(86_400 * 365);
        self::assertSame(5, $this->limiter->peek('k', 5, 1)->remaining);
        self::assertFalse($this->limiter->allow('k', 5, 1, 6));
    }

    public function testRetryAfterIsExactToTheMicrosecond(): void
    {
        $this->limiter->attempt('k', 7, 3, requested: 7);
        $retryAfter = $this->limiter->attempt('k', 7, 3, requested: 2)->retryAfter;
        self::assertSame(0.666_667, $retryAfter);
        $this->store->advance($retryAfter - 0.000_001);
        self::assertFalse($this->limiter->peek('k', 7, 3, 2)->allowed);
        $this->store->advance(0.000_001);
        self::assertTrue($this->limiter->peek('k', 7, 3, 2)->allowed);
    }

    public function testResetAfterIsTheTimeUntilTheBucketIsFull(): void
    {
        $decision = $this->limiter->attempt('k', 100, 20, requested: 30);
        self::assertSame(1.5, $decision->resetAfter);
        $this->store->advance(1.5);
        self::assertSame(0.0, $this->limiter->peek('k', 100, 20)->resetAfter);
    }

    public function testATokenOnItsWayIsSeenInResetAfterAndNotYetInRemaining(): void
    {
        $this->limiter->attempt('k', 10, 2, requested: 4);
        $this->store->advance(0.3);
        // 4 taken, 0.6 of one back, and 1 more taken: 4.4 are missing.
        $decision = $this->limiter->attempt('k', 10, 2);
        self::assertSame([5, 2.2], [$decision->remaining, $decision->resetAfter]);
        self::assertSame(2.2, $this->limiter->peek('k', 10, 2)->resetAfter);
    }

    public function testARefusalTakesNothingSoHammeringDoesNotPutOffTheNextToken(): void
    {
        $this->limiter->allow('k', 1, 1);
        for ($step = 0; $step < 99; $step++) {
            $this->store->advance(0.01);
            self::assertFalse($this->limiter->allow('k', 1, 1));
        }
        $this->store->advance(0.01);
        self::assertTrue($this->limiter->allow('k', 1, 1));
    }

    public function testMoreThanTheCapacityNeverPassesAndIsToldSo(): void
    {
        $decision = $this->limiter->attempt('k', 5, 1, requested: 6);
        self::assertFalse($decision->allowed);
        self::assertNull($decision->retryAfter);
        self::assertSame(5, $decision->remaining);
    }

    public function testARequestForNothingTakesNothing(): void
    {
        $decision = $this->limiter->attempt('k', 5, 1, requested: 0);
        self::assertTrue($decision->allowed);
        self::assertSame(5, $decision->remaining);
    }

    public function testPeekTakesNothing(): void
    {
        $this->limiter->peek('k', 1, 1);
        self::assertTrue($this->limiter->allow('k', 1, 1));
        self::assertFalse($this->limiter->peek('k', 1, 1)->allowed);
    }

    public function testResetFillsTheBucket(): void
    {
        $this->limiter->attempt('k', 5, 1, requested: 5);
        $this->limiter->reset('k');
        self::assertSame(5, $this->limiter->peek('k', 5, 1)->remaining);
    }

    /** @dataProvider limitsOfNothing */
    public function testALimitOfNothingRefusesAndIsNoMistake(int $capacity, int|float $rate): void
    {
        $decision = $this->limiter->attempt('k', $capacity, $rate);
        self::assertFalse($decision->allowed);
        self::assertNull($decision->retryAfter);
        self::assertSame(0, $decision->remaining);
    }

    public static function limitsOfNothing(): iterable
    {
        yield 'no capacity' => [0, 1];
        yield 'no rate' => [10, 0];
        yield 'no rate, as a float' => [10, 0.0];
        yield 'neither' => [0, 0];
    }

    public function testALowerCapacityAppliesAtOnceAndForgetsNothingSpent(): void
    {
        $this->limiter->attempt('k', 100, 1, requested: 30);
        self::assertSame(0, $this->limiter->peek('k', 10, 1)->remaining);
        // 30 were spent, so 10 are free again once 30 have come back.
        self::assertSame(30.0, $this->limiter->peek('k', 10, 1, 10)->retryAfter);
    }

    public function testAHigherCapacityAppliesAtOnceAndGivesNothingAwayTwice(): void
    {
        $this->limiter->attempt('k', 10, 1, requested: 10);
        self::assertSame(90, $this->limiter->peek('k', 100, 1)->remaining);
    }

    public function testAnotherRateChangesOnlyHowFastTokensComeBack(): void
    {
        $this->limiter->attempt('k', 10, 1, requested: 10);
        self::assertSame(10.0, $this->limiter->peek('k', 10, 1)->resetAfter);
        self::assertSame(5.0, $this->limiter->peek('k', 10, 2)->resetAfter);
        self::assertSame(0, $this->limiter->peek('k', 10, 2)->remaining);
    }

    public function testAFloatRateIsTheFractionItStandsFor(): void
    {
        // Ten a minute. Taken for 0.16666666666666666, six minutes would bring
        // a token too few.
        $this->limiter->attempt('k', 60, 10 / 60, requested: 60);
        $this->store->advance(360);
        self::assertSame(60, $this->limiter->peek('k', 60, 10 / 60)->remaining);
    }

    public function testTheSlowestAndTheFastestRateWork(): void
    {
        $slow = $this->limiter->attempt('slow', 1, 1 / 31_622_400);
        self::assertSame(31_622_400.0, $slow->resetAfter);
        $fast = $this->limiter->attempt('fast', 1, 1_000_000);
        self::assertSame(0.000_001, $fast->resetAfter);
    }

    public function testKeysAreCountedApart(): void
    {
        $this->limiter->allow('one', 1, 1);
        self::assertTrue($this->limiter->allow('two', 1, 1));
    }

    public function testABucketAndAWindowOnOneKeyAreCountedApart(): void
    {
        $this->limiter->allow('k', 1, 1);
        self::assertTrue(fixed_window_limit('k', 1));
    }

    public function testArgumentsHaveNames(): void
    {
        $decision = $this->limiter->attempt(requested: 2, rate: 0.5, capacity: 3, key: 'named');
        self::assertSame(['named', 3, 1], [$decision->key, $decision->limit, $decision->remaining]);
    }

    public function testSharedMemoryDecidesByDefault(): void
    {
        Store::restore();
        $decision = $this->limiter->attempt(self::freshKey(), 3, 1);
        self::assertSame(Source::SharedMemory, $decision->source);
        self::assertSame(2, $decision->remaining);
    }
}
