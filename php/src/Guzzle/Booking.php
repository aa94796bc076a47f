<?php

declare(strict_types=1);

namespace Sluice\Guzzle;

use Sluice\Decision;
use Sluice\RateLimiter;
use Throwable;

/**
 * One request's place under all limits of a partner, or none at all.
 *
 * What can be booked ahead is booked; what cannot must be free now. Who is
 * refused by one gets back what the others gave.
 */
final class Booking
{
    /** Seconds to wait before sending. */
    public readonly float $delay;

    /** What refused; null if it may be sent. */
    public readonly ?Decision $refusedBy;

    /** @var list<Decision> */
    private array $taken = [];

    /**
     * @param float $maxWait seconds
     * @throws \Sluice\StoreException under the failure policy `throw`
     */
    public function __construct(
        private readonly RateLimiter $limiter,
        private readonly Partner $partner,
        private readonly string $key,
        float $maxWait,
    ) {
        try {
            $this->refusedBy = $this->take($maxWait);
        } catch (Throwable $fault) {
            $this->giveBack();
            throw $fault;
        }
        $this->delay = max([0.0, ...array_map(static fn (Decision $taken): float => $taken->delay, $this->taken)]);
    }

    /** Gives permits back: the answer is there. */
    public function release(): void
    {
        foreach ($this->taken as $decision) {
            $decision->permit?->release();
        }
    }

    /** Keeps everybody away from this partner for so many seconds. */
    public function holdBack(int $seconds): void
    {
        foreach ($this->partner->terms as ['limit' => $limit, 'pace' => $pace, 'cost' => $cost]) {
            $pace?->hold($this->limiter, $this->key, $limit, $seconds, $cost);
        }
    }

    private function take(float $maxWait): ?Decision
    {
        foreach ($this->partner->terms as ['limit' => $limit, 'pace' => $pace, 'cost' => $cost]) {
            $decision = $pace === null
                ? $this->limiter->attempt($this->key, $limit, $cost)
                : $this->limiter->reserve($this->key, $limit, $cost, $maxWait);
            if (!$decision->allowed) {
                $this->giveBack();
                return $decision;
            }
            $this->taken[] = $decision;
        }
        return null;
    }

    private function giveBack(): void
    {
        foreach ($this->taken as $decision) {
            $this->limiter->refund($decision);
        }
        $this->taken = [];
    }
}
