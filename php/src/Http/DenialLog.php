<?php

declare(strict_types=1);

namespace Sluice\Http;

use Closure;
use Psr\Log\LoggerInterface;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\RateLimiter;
use Sluice\Store;

/**
 * Writes denials down, at most one a key and interval on this host: an attack
 * must not fill the disk on top.
 */
final class DenialLog
{
    private readonly RateLimiter $budget;
    private readonly Limit $once;

    /**
     * @param float $interval seconds
     * @param (Closure(Verdict): void)|null $listener hears of the same denials,
     *        for an event of the framework's
     * @param RateLimiter|null $budget counts what was written; by default in
     *        this host's shared memory, so that a denial costs no round trip
     */
    public function __construct(
        private readonly ?LoggerInterface $logger = null,
        private readonly float $interval = 10.0,
        private readonly ?Closure $listener = null,
        ?RateLimiter $budget = null,
    ) {
        $this->budget = $budget ?? new Limiter(Store::sharedMemory());
        $this->once = Limit::fixedWindow(1, $this->interval)->named('sluice-denial-log');
    }

    public function note(Verdict $verdict): void
    {
        $context = $verdict->context();
        // Looked at with `wouldDeny`, for in observe mode nothing is refused.
        $turn = $this->budget->attempt(Key::of($context['policy'], $verdict->decision->key ?? ''), $this->once);
        if (!$turn->allowed || $turn->wouldDeny) {
            return;
        }
        $this->logger?->warning(
            $verdict->allowed ? 'Over the rate limit, let through' : 'Refused by a rate limit',
            $context,
        );
        if ($this->listener !== null) {
            ($this->listener)($verdict);
        }
    }
}
