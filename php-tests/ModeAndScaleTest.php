<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** Limits can be introduced without a jolt: watched first, or scaled, or off. */
final class ModeAndScaleTest extends TestCase
{
    private TokenBucketLimiter $limiter;

    protected function setUp(): void
    {
        Store::fake(1_700_000_000.0);
        $this->limiter = new TokenBucketLimiter();
    }

    public function testObservingCountsAndLetsThroughAndSaysWhatItWouldHaveDone(): void
    {
        ini_set('sluice.mode', 'observe');
        self::assertFalse($this->limiter->attempt('k', 1, 1)->wouldDeny);
        $decision = $this->limiter->attempt('k', 1, 1);
        self::assertTrue($decision->allowed);
        self::assertTrue($decision->wouldDeny);
        self::assertSame(0, $decision->remaining);
        self::assertSame(0.0, $decision->retryAfter);
        self::assertArrayNotHasKey('Retry-After', $decision->headers());
        self::assertTrue($this->limiter->allow('k', 1, 1));
    }

    public function testWhatWasObservedIsEnforcedLater(): void
    {
        ini_set('sluice.mode', 'observe');
        $this->limiter->allow('k', 1, 1);
        ini_set('sluice.mode', 'enforce');
        self::assertFalse($this->limiter->allow('k', 1, 1));
    }

    public function testEnforcingNeverSaysThatItWouldDeny(): void
    {
        $this->limiter->allow('k', 1, 1);
        $decision = $this->limiter->attempt('k', 1, 1);
        self::assertSame([false, false], [$decision->allowed, $decision->wouldDeny]);
    }

    public function testOffLetsThroughAndCountsNothing(): void
    {
        ini_set('sluice.mode', 'off');
        $decision = $this->limiter->attempt('k', 1, 1, requested: 1000);
        self::assertSame(
            [true, 1, 1, false],
            [$decision->allowed, $decision->limit, $decision->remaining, $decision->wouldDeny],
        );
        ini_set('sluice.mode', 'enforce');
        self::assertSame(1, $this->limiter->peek('k', 1, 1)->remaining);
    }

    public function testScaleMultipliesCapacityAndRate(): void
    {
        ini_set('sluice.scale', '0.5');
        $decision = $this->limiter->attempt('k', 100, 20, requested: 10);
        self::assertSame([50, 40, 1.0], [$decision->limit, $decision->remaining, $decision->resetAfter]);
    }

    public function testScaleMultipliesTheLimitOfAWindowAndNotItsLength(): void
    {
        ini_set('sluice.scale', '3');
        $decision = (new FixedWindowLimiter())->attempt('k', 5, 60);
        self::assertSame([15, 14, 60.0], [$decision->limit, $decision->remaining, $decision->resetAfter]);
    }

    public function testScaleNeverTurnsALimitIntoNothing(): void
    {
        ini_set('sluice.scale', '0.000001');
        self::assertTrue($this->limiter->allow('k', 1, 1));
        self::assertFalse($this->limiter->allow('k', 1, 1));
    }

    public function testScaleLeavesALimitOfNothingAsItIs(): void
    {
        ini_set('sluice.scale', '1000');
        self::assertFalse($this->limiter->allow('k', 0, 1));
    }

    public function testAnotherScaleForgetsNothingSpent(): void
    {
        $this->limiter->attempt('k', 10, 1, requested: 8);
        ini_set('sluice.scale', '0.5');
        self::assertFalse($this->limiter->allow('k', 10, 1));
        ini_set('sluice.scale', '2');
        self::assertSame(12, $this->limiter->peek('k', 10, 1)->remaining);
    }
}
