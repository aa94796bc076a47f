<?php

declare(strict_types=1);

namespace Sluice\Testing;

use Sluice\Decision;
use Sluice\Limit;
use Sluice\Permit;
use Sluice\RateLimiter;

/**
 * A limiter that looks at the time of the test before it is asked: see
 * {@see SluiceTest::follow()}. Without a fake it is just the limiter.
 */
final class FollowingLimiter implements RateLimiter
{
    public function __construct(private readonly RateLimiter $limiter)
    {
    }

    public function allow(string $key, Limit|string $limit, int $cost = 1): bool
    {
        return $this->now()->allow($key, $limit, $cost);
    }

    public function attempt(string $key, Limit|string $limit, int $cost = 1): Decision
    {
        return $this->now()->attempt($key, $limit, $cost);
    }

    public function attemptAll(Limit ...$limits): Decision
    {
        return $this->now()->attemptAll(...array_values($limits));
    }

    public function peek(string $key, Limit|string $limit, int $cost = 1): Decision
    {
        return $this->now()->peek($key, $limit, $cost);
    }

    public function reserve(string $key, Limit|string $limit, int $cost = 1, float $maxWait = 0.0): Decision
    {
        return $this->now()->reserve($key, $limit, $cost, $maxWait);
    }

    public function wait(string $key, Limit|string $limit, int $cost = 1, float $maxWait = 0.0): Decision
    {
        return $this->now()->wait($key, $limit, $cost, $maxWait);
    }

    public function charge(string $key, Limit|string $limit, int $cost): Decision
    {
        return $this->now()->charge($key, $limit, $cost);
    }

    public function refund(Decision $decision, ?int $cost = null): void
    {
        $this->now()->refund($decision, $cost);
    }

    public function reset(string $key, Limit|string $limit): void
    {
        $this->now()->reset($key, $limit);
    }

    public function acquire(string $key, Limit|string $limit): ?Permit
    {
        return $this->now()->acquire($key, $limit);
    }

    public function run(string $key, Limit|string $limit, callable $do, float $maxWait = 0.0): mixed
    {
        return $this->now()->run($key, $limit, $do, $maxWait);
    }

    private function now(): RateLimiter
    {
        SluiceTest::follow();
        return $this->limiter;
    }
}
