<?php

declare(strict_types=1);

namespace Sluice\Http;

use Psr\Log\LoggerInterface;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\RateLimiter;

/**
 * Whether a request may go on: first the allow list, then all limits at once.
 *
 * What every adapter asks, and all that plain PHP needs:
 *
 * ```php
 * $guard = new Guard(allow: new AllowList(networks: ['10.0.0.0/8']));
 * $facts = Facts::ofServer($_SERVER, route: 'report');
 * $verdict = $guard->check($facts, Limit::parse('20/s burst 100')->by($facts->client()));
 * if (!$verdict->allowed) {
 *     $verdict->send();
 *     exit;
 * }
 * ```
 *
 * Holds nothing of a request, so one may serve a worker for life.
 */
final class Guard
{
    /**
     * @param RateLimiter $limiter by default on the store of php.ini
     * @param LoggerInterface|null $passes hears of each pass of the allow list
     */
    public function __construct(
        private readonly RateLimiter $limiter = new Limiter(),
        private readonly AllowList $allow = new AllowList(),
        private readonly ?DenialLog $denials = null,
        private readonly ?LoggerInterface $passes = null,
    ) {
    }

    /**
     * Takes from all limits, or from none. Without a limit all may pass.
     *
     * @param Limit ...$limits each with {@see Limit::by()}
     * @throws \Sluice\StoreException only under the failure policy `throw`
     */
    public function check(Facts $facts, Limit ...$limits): Verdict
    {
        $passedBy = $this->passedBy($facts);
        if ($passedBy !== null || $limits === []) {
            return new Verdict($facts, null, [], $passedBy);
        }
        $limits = array_values($limits);
        return $this->noted(new Verdict($facts, $this->limiter->attemptAll(...$limits), $limits));
    }

    /**
     * Whether a limit would let one more through. Takes nothing, for requests
     * that are charged by their answer.
     *
     * @throws \Sluice\StoreException only under the failure policy `throw`
     */
    public function look(Facts $facts, string $key, Limit $limit): Verdict
    {
        return $this->noted(new Verdict($facts, $this->limiter->peek($key, $limit), [$limit]));
    }

    /** What of the allow list lets this request pass, in words; null for nothing. Each pass is logged. */
    public function passedBy(Facts $facts): ?string
    {
        $by = $this->allow->admits($facts);
        if ($by !== null) {
            $this->passes?->info('Passed the rate limits by the allow list', [
                'by' => LogText::of($by),
                'ip' => LogText::of($facts->ip),
                'user' => $facts->user === null ? null : LogText::of($facts->user),
                'route' => LogText::of($facts->route),
            ]);
        }
        return $by;
    }

    private function noted(Verdict $verdict): Verdict
    {
        if (!$verdict->allowed || $verdict->wouldDeny()) {
            $this->denials?->note($verdict);
        }
        return $verdict;
    }
}
