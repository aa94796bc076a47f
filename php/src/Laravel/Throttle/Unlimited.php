<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;

/**
 * Limits nothing: what becomes of a callback's result differs by version, and is
 * Laravel's own to say.
 */
final class Unlimited extends LaravelRateLimiter
{
    private static ?self $instance = null;

    private function __construct()
    {
    }

    public static function instance(): self
    {
        return self::$instance ??= new self();
    }

    /**
     * @param string $key
     * @param int $maxAttempts
     * @return bool
     */
    public function tooManyAttempts($key, $maxAttempts)
    {
        return false;
    }

    /**
     * @param string $key
     * @param \DateTimeInterface|\DateInterval|int $decaySeconds
     * @return int
     */
    public function hit($key, $decaySeconds = 60)
    {
        return 1;
    }
}
