<?php

declare(strict_types=1);

namespace Sluice\Guzzle;

use Sluice\Decision;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\RateLimiter;
use Sluice\Store;
use ValueError;

/**
 * A bucket as a pace: how long its tokens take, and how to hold it back.
 *
 * Time and tokens are the same thing in a bucket. Who stays away for a minute
 * owes a minute's tokens; whoever books meanwhile, on any host, queues behind
 * that debt, and when the minute is over they go on one after another instead
 * of all at once.
 */
final class Pace
{
    /** What is charged at most, whatever the partner asks for. */
    private const MOST_TOKENS = 32_000_000;
    private const PROBE = 1000;

    private function __construct(
        /** Tokens per second. */
        private readonly float $rate,
        /** Whether it answers with a place in a queue, as a leaky bucket does. */
        private readonly bool $queues,
    ) {
    }

    /**
     * The pace of this limit; null if it is no bucket, so that nothing can be
     * booked ahead.
     */
    public static function of(Limit $limit): ?self
    {
        // Tried on an empty store of its own: a limit does not tell its numbers.
        $probe = new Limiter(Store::memory());
        try {
            $probe->reserve('', $limit, 0);
            $owed = $probe->charge('', $limit, self::PROBE)->resetAfter;
            $queues = $probe->charge('queue', $limit, 1)->allowed && $probe->peek('queue', $limit)->delay > 0.0;
        } catch (ValueError) {
            return null;
        }
        return $owed > 0.0 ? new self(self::PROBE / $owed, $queues) : null;
    }

    /**
     * Lets no token of this key out for so many seconds: for everybody who
     * shares the store. Being told so twice is being told once.
     *
     * @param Limit $limit the one this is the pace of
     * @param int $cost tokens the next request will ask for
     */
    public function hold(RateLimiter $limiter, string $key, Limit $limit, int $seconds, int $cost = 1): Decision
    {
        $capacity = $this->queues ? $cost : $limiter->peek($key, $limit, 0)->limit;
        $wanted = min((float) self::MOST_TOKENS, $capacity - $cost + $seconds * $this->rate);
        $decision = $limiter->charge($key, $limit, (int) ceil($wanted));
        // What was owed before counts towards it: another worker may have been
        // told the same at the same moment.
        $excess = (int) floor($decision->resetAfter * $this->rate - $wanted + 1e-6);
        if ($excess > 0) {
            $limiter->refund($decision, $excess);
        }
        return $decision;
    }
}
