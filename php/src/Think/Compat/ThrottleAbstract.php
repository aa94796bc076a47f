<?php

declare(strict_types=1);

namespace Sluice\Think\Compat;

use Psr\SimpleCache\CacheInterface;

/**
 * Stands in for `think\middleware\throttle\ThrottleAbstract` where think-throttle
 * is not installed, so that an application's own driver still has its parent.
 */
abstract class ThrottleAbstract
{
    /** @var int requests counted so far */
    protected int $cur_requests = 0;

    /** @var int seconds until the next one may pass */
    protected int $wait_seconds = 0;

    /**
     * Whether a request may go on.
     *
     * @param string $key for the cache
     * @param float $micro_now the time, in seconds
     * @param int $max_requests so many ...
     * @param int $duration ... in so many seconds
     */
    abstract public function allowRequest(
        string $key,
        float $micro_now,
        int $max_requests,
        int $duration,
        CacheInterface $cache,
    ): bool;

    public function getWaitSeconds(): int
    {
        return $this->wait_seconds;
    }

    public function getCurRequests(): int
    {
        return $this->cur_requests;
    }
}
