<?php

declare(strict_types=1);

namespace Sluice\Symfony;

use LogicException;
use Sluice\Limit;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit;
use Symfony\Component\RateLimiter\Reservation;

/**
 * Several limiters in one decision: where one refuses, none is charged.
 *
 * Symfony's own asks one after the other, so a refused request still costs the
 * others.
 *
 * ```php
 * $limiter = new CompoundLimiter($byUser->create($id), $byAddress->create($ip));
 * $limiter->consume()->ensureAccepted();
 * ```
 */
final class CompoundLimiter implements LimiterInterface
{
    /** @var list<EngineLimiter> at least one */
    private readonly array $limiters;

    /**
     * @param LimiterInterface ...$limiters of {@see LimiterFactory}
     * @throws LogicException without any, or with one that the engine does not decide
     */
    public function __construct(LimiterInterface ...$limiters)
    {
        $engine = array_filter($limiters, static fn (LimiterInterface $one): bool => $one instanceof EngineLimiter);
        if ($limiters === [] || count($engine) < count($limiters)) {
            throw new LogicException(
                'A compound limiter takes one or more limiters of ' . LimiterFactory::class
                . ', so that they can be asked at once; see "limiter.*" of the container.'
            );
        }
        $this->limiters = array_values($engine);
    }

    public function consume(int $tokens = 1): RateLimit
    {
        if ($tokens === 0) {
            $looks = array_map(static fn (EngineLimiter $limiter): RateLimit => $limiter->consume(0), $this->limiters);
            usort($looks, static fn (RateLimit $one, RateLimit $other): int =>
                [$one->getRemainingTokens(), $other->getRetryAfter()]
                <=> [$other->getRemainingTokens(), $one->getRetryAfter()]);
            return $looks[0];
        }
        $parts = array_map(static fn (EngineLimiter $limiter): Limit => $limiter->part($tokens), $this->limiters);
        return EngineRateLimit::of($this->limiters[0]->limiter()->attemptAll(...$parts));
    }

    /** Gives back what was taken by {@see consume()}, to each its own. */
    public function refund(EngineRateLimit $taken): void
    {
        $this->limiters[0]->limiter()->refund($taken->decision);
    }

    /** @throws ReserveNotSupportedException always, as with Symfony's own */
    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        throw new ReserveNotSupportedException(self::class);
    }

    public function reset(): void
    {
        foreach ($this->limiters as $limiter) {
            $limiter->reset();
        }
    }
}
