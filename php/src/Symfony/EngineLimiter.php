<?php

declare(strict_types=1);

namespace Sluice\Symfony;

use InvalidArgumentException;
use Sluice\Limit;
use Sluice\RateLimiter;
use Symfony\Component\RateLimiter\Exception\MaxWaitDurationExceededException;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimit;
use Symfony\Component\RateLimiter\Reservation;

/**
 * Symfony's limiter, decided by the engine.
 */
final class EngineLimiter implements LimiterInterface
{
    /** What "however long" means to the engine, in seconds. */
    private const LONGEST_WAIT = 31_622_400.0;

    /**
     * @param int $most tokens that can ever be had at once, as configured;
     *        PHP_INT_MAX where there is no limit
     * @param bool $books whether tokens can be booked ahead
     */
    public function __construct(
        private readonly RateLimiter $limiter,
        private readonly Limit $limit,
        private readonly string $key,
        private readonly int $most,
        private readonly bool $books,
    ) {
    }

    /**
     * Takes tokens, or none. With 0 it only looks.
     *
     * @throws InvalidArgumentException for more than there can ever be
     * @throws \Sluice\StoreException only under the failure policy `throw`
     */
    public function consume(int $tokens = 1): RateLimit
    {
        $this->check($tokens);
        return $tokens === 0
            ? EngineRateLimit::look($this->limiter->peek($this->key, $this->limit))
            : EngineRateLimit::of($this->limiter->attempt($this->key, $this->limit, $tokens));
    }

    /**
     * Books tokens of a token bucket, now or for later.
     *
     * @param float|null $maxTime seconds; null for however long it takes
     * @throws MaxWaitDurationExceededException if it would be longer than that
     * @throws ReserveNotSupportedException for windows
     * @throws InvalidArgumentException for more than there can ever be
     */
    public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
    {
        if (!$this->books) {
            throw new ReserveNotSupportedException(self::class);
        }
        $this->check($tokens);
        $wait = min($maxTime ?? self::LONGEST_WAIT, self::LONGEST_WAIT);
        // Nothing has to be booked of what is unlimited.
        $decision = $this->most === PHP_INT_MAX
            ? $this->limiter->attempt($this->key, $this->limit, $tokens)
            : $this->limiter->reserve($this->key, $this->limit, $tokens, max(0.0, $wait));
        if (!$decision->allowed) {
            $peek = $this->limiter->peek($this->key, $this->limit, $tokens);
            throw new MaxWaitDurationExceededException(
                sprintf('It would take %.3F seconds, more than the %.3F allowed.', $peek->retryAfter ?? INF, $wait),
                EngineRateLimit::of($peek),
            );
        }
        return new Reservation(microtime(true) + $decision->delay, EngineRateLimit::booked($decision));
    }

    /** Forgets what was taken. */
    public function reset(): void
    {
        $this->limiter->reset($this->key, $this->limit);
    }

    /** Its part of a decision on several at once. */
    public function part(int $tokens): Limit
    {
        $this->check($tokens);
        return $this->limit->by($this->key, $tokens);
    }

    /** Who decides, for a decision on several at once. */
    public function limiter(): RateLimiter
    {
        return $this->limiter;
    }

    private function check(int $tokens): void
    {
        // A limit of 0 is none that was set too low: it refuses everything.
        if ($tokens < 0 || ($tokens > $this->most && $this->most > 0)) {
            throw new InvalidArgumentException(
                "{$tokens} tokens cannot be had from a rate limiter of {$this->most}; ask for 0 to {$this->most}"
            );
        }
    }
}
