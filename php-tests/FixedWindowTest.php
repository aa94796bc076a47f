<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;

/** What a fixed window promises, under a clock that only the test moves. */
final class FixedWindowTest extends TestCase
{
    private Store $store;
    private FixedWindowLimiter $limiter;

    protected function setUp(): void
    {
        // Not at the start of a minute: windows are not aligned to the clock.
        $this->store = Store::fake(1_700_000_017.25);
        $this->limiter = new FixedWindowLimiter();
    }

    public function testAWindowLetsItsLimitThrough(): void
    {
        $allowed = array_map(fn () => $this->limiter->allow('k', 3, 60), range(1, 4));
        self::assertSame([true, true, true, false], $allowed);
    }

    public function testAWindowStartsWithTheFirstRequestAndEndsItsLengthLater(): void
    {
        $this->limiter->allow('k', 1, 60);
        $this->store->advance(59.999_999);
        self::assertFalse($this->limiter->allow('k', 1, 60));
        $this->store->advance(0.000_001);
        self::assertTrue($this->limiter->allow('k', 1, 60));
    }

    public function testTheWindowIsASecondUnlessToldOtherwise(): void
    {
        $this->limiter->allow('k', 1);
        self::assertSame(1.0, $this->limiter->attempt('k', 1)->retryAfter);
        self::assertFalse($this->limiter->allow('k', 1, 1.0));
    }

    public function testARefusalNeitherCountsNorProlongsTheWindow(): void
    {
        $this->limiter->allow('k', 1, 60);
        for ($second = 59; $second > 0; $second--) {
            $this->store->advance(1);
            self::assertSame((float) $second, $this->limiter->attempt('k', 1, 60)->retryAfter);
        }
        $this->store->advance(1);
        self::assertTrue($this->limiter->allow('k', 1, 60));
    }

    public function testALaterRequestDoesNotProlongTheWindow(): void
    {
        $this->limiter->allow('k', 2, 60);
        $this->store->advance(59);
        $this->limiter->allow('k', 2, 60);
        $this->store->advance(1);
        self::assertSame(2, $this->limiter->peek('k', 2, 60)->remaining);
    }

    public function testPeekOpensNoWindow(): void
    {
        self::assertSame(0.0, $this->limiter->peek('k', 1, 60)->resetAfter);
        $this->store->advance(30);
        self::assertSame(60.0, $this->limiter->attempt('k', 1, 60)->resetAfter);
    }

    public function testMoreThanTheLimitNeverPassesAndIsToldSo(): void
    {
        $decision = $this->limiter->attempt('k', 5, 60, requested: 6);
        self::assertFalse($decision->allowed);
        self::assertNull($decision->retryAfter);
        self::assertSame(5, $decision->remaining);
    }

    public function testSeveralTokensAreTakenTogetherOrNotAtAll(): void
    {
        self::assertTrue($this->limiter->allow('k', 5, 60, 3));
        self::assertFalse($this->limiter->allow('k', 5, 60, 3));
        self::assertTrue($this->limiter->allow('k', 5, 60, 2));
    }

    public function testALimitOfNothingRefusesAndIsNoMistake(): void
    {
        $decision = $this->limiter->attempt('k', 0, 60);
        self::assertFalse($decision->allowed);
        self::assertNull($decision->retryAfter);
    }

    public function testAnotherLimitAppliesToWhatTheWindowHasSeen(): void
    {
        $this->limiter->attempt('k', 10, 60, requested: 8);
        self::assertSame(12, $this->limiter->peek('k', 20, 60)->remaining);
        self::assertFalse($this->limiter->peek('k', 5, 60)->allowed);
    }

    public function testWindowsOfDifferentLengthsOnOneKeyAreCountedApart(): void
    {
        self::assertTrue($this->limiter->allow('k', 1, 1));
        self::assertTrue($this->limiter->allow('k', 1, 60));
        self::assertTrue($this->limiter->allow('k', 1, 60.5));
        self::assertFalse($this->limiter->allow('k', 1, 60.0));
    }

    public function testResetEndsTheWindowOfItsLengthOnly(): void
    {
        $this->limiter->allow('k', 1, 60);
        $this->limiter->allow('k', 1, 3600);
        $this->limiter->reset('k', 60);
        self::assertTrue($this->limiter->peek('k', 1, 60)->allowed);
        self::assertFalse($this->limiter->peek('k', 1, 3600)->allowed);
    }

    public function testTheShortestAndTheLongestWindowWork(): void
    {
        self::assertSame(0.000_001, $this->limiter->attempt('k', 1, 0.000_001)->resetAfter);
        self::assertSame(31_622_400.0, $this->limiter->attempt('k', 1, 31_622_400)->resetAfter);
    }

    public function testTheFunctionCountsTogetherWithTheClass(): void
    {
        self::assertTrue(fixed_window_limit('k', limit: 2, window: 60));
        self::assertTrue($this->limiter->allow('k', 2, 60));
        self::assertFalse(fixed_window_limit('k', limit: 2, window: 60));
    }

    public function testTheFunctionTakesSeveralTokensWithoutNamingTheWindow(): void
    {
        self::assertTrue(fixed_window_limit('k', limit: 3, requested: 3));
        self::assertFalse(fixed_window_limit('k', 3));
    }

    public function testSharedMemoryDecidesByDefault(): void
    {
        Store::restore();
        $decision = $this->limiter->attempt(self::freshKey(), 3, 60);
        self::assertSame(Source::SharedMemory, $decision->source);
        self::assertSame(2, $decision->remaining);
    }

    public function testAWindowKeptAsOpenedIsOneCountUnderAllLengths(): void
    {
        $limiter = new Limiter();
        $window = fn (int $limit, float $length) => Limit::fixedWindow($limit, $length, asOpened: true);
        $limiter->charge('k', $window(5, 60), 2);
        self::assertSame(1, $limiter->attempt('k', $window(4, 3600))->remaining);
        self::assertSame(5, $limiter->peek('k', Limit::fixedWindow(5, 60))->remaining, 'it is apart from others');

        $this->store->advance(59.999_999);
        self::assertSame(2, $limiter->peek('k', $window(5, 1))->remaining);
        self::assertSame(0.000_001, $limiter->attempt('k', $window(3, 1))->retryAfter);
        $this->store->advance(0.000_001);
        self::assertTrue($limiter->allow('k', $window(1, 3600)));
        self::assertSame(3600.0, $limiter->peek('k', $window(1, 1))->retryAfter, 'the next one has its own length');

        $limiter->reset('k', $window(9, 7));
        self::assertTrue($limiter->allow('k', $window(1, 1)));
    }

    public function testWhatAWindowKeptAsOpenedTookIsGivenBackToNoLaterOne(): void
    {
        $limiter = new Limiter();
        $window = Limit::fixedWindow(3, 60, asOpened: true);
        $first = $limiter->attempt('k', $window);
        $this->store->advance(60);
        $second = $limiter->attempt('k', $window);
        $limiter->refund($first);
        self::assertSame(2, $limiter->peek('k', $window)->remaining);
        $limiter->refund($second);
        self::assertSame(3, $limiter->peek('k', $window)->remaining);
    }
}
