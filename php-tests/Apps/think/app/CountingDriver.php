<?php

declare(strict_types=1);

namespace app;

use Psr\SimpleCache\CacheInterface;
use think\middleware\throttle\ThrottleAbstract;

/** A driver of the application's own: counts in the cache, for ever. */
class CountingDriver extends ThrottleAbstract
{
    public function allowRequest(
        string $key,
        float $micronow,
        int $max_requests,
        int $duration,
        CacheInterface $cache,
    ): bool {
        $this->cur_requests = (int) $cache->get($key, 0);
        $this->wait_seconds = 77;
        if ($this->cur_requests >= $max_requests) {
            return false;
        }
        $cache->set($key, $this->cur_requests + 1);
        return true;
    }
}
