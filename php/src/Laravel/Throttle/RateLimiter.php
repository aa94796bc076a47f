<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use BackedEnum;
use Closure;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit as LaravelLimit;
use Symfony\Component\HttpFoundation\Request;
use Throwable;
use UnitEnum;

/**
 * Laravel's rate limiter, counting on the engine.
 *
 * What is different: {@see attempt()} counts first, so that of two at once only
 * one gets the last try; keys are taken as they are, so that `a<b` and `alb` are
 * two; a limit of 0 refuses from the first on; counters never fall below 0;
 * forgetting a counter ends its window, too.
 */
final class RateLimiter extends LaravelRateLimiter
{
    private ?Windows $windows = null;

    /** @var Closure(): Windows */
    private Closure $makeWindows;

    /**
     * With all that was named by `RateLimiter::for()`.
     *
     * @param Closure(): Windows $windows what to count in; asked for when first
     *        needed, for naming limiters must do where nothing can be counted
     */
    public static function inPlaceOf(LaravelRateLimiter $theirs, Closure $windows): self
    {
        $limiter = new self($theirs->cache);
        $limiter->limiters = $theirs->limiters;
        $limiter->makeWindows = $windows;
        return $limiter;
    }

    /** What it counts in. */
    public function windows(): Windows
    {
        return $this->windows ??= ($this->makeWindows)();
    }

    /**
     * The named limiter. Of its limits no two share a counter, also where
     * Laravel, up to version 10, would have them.
     *
     * @param UnitEnum|string $name
     * @return Closure|null
     */
    public function limiter($name)
    {
        $limiter = parent::limiter($name);
        return $limiter === null ? null : function (mixed ...$arguments) use ($limiter, $name): mixed {
            $limits = $limiter(...$arguments);
            if (!is_array($limits) || count($limits) < 2) {
                return $limits;
            }
            /** @var array<LaravelLimit> $limits */
            $apart = RequestLimit::apart($limits);
            // A job is asked about one limit after another, and would be charged
            // by those before the one that refuses: it gets that one only.
            return ($arguments[0] ?? null) instanceof Request ? $apart : $this->refusing($name, $apart) ?? $apart;
        };
    }

    /**
     * @param string|int $key
     * @param int|string $maxAttempts
     * @param \DateTimeInterface|\DateInterval|int $decaySeconds
     * @return mixed false, or what came of the callback
     */
    public function attempt($key, $maxAttempts, Closure $callback, $decaySeconds = 60)
    {
        $taken = $this->windows()->take((string) $key, (int) $maxAttempts, $this->secondsUntil($decaySeconds));
        if (!$taken->allowed) {
            return false;
        }
        try {
            return Unlimited::instance()->attempt((string) $key, 1, $callback);
        } catch (Throwable $error) {
            $this->windows()->giveBack($taken);
            throw $error;
        }
    }

    /**
     * @param string|int $key
     * @param int|string $maxAttempts
     * @return bool
     */
    public function tooManyAttempts($key, $maxAttempts)
    {
        return !$this->windows()->look((string) $key, (int) $maxAttempts)->allowed;
    }

    /**
     * @param string|int $key
     * @param \DateTimeInterface|\DateInterval|int $decaySeconds
     * @return int
     */
    public function hit($key, $decaySeconds = 60)
    {
        return $this->increment($key, $decaySeconds);
    }

    /**
     * @param string|int $key
     * @param \DateTimeInterface|\DateInterval|int $decaySeconds
     * @param int $amount
     * @return int
     */
    public function increment($key, $decaySeconds = 60, $amount = 1)
    {
        return $amount < 0
            ? $this->windows()->countBack((string) $key, -$amount)
            : $this->windows()->count((string) $key, $this->secondsUntil($decaySeconds), (int) $amount);
    }

    /**
     * @param string|int $key
     * @param \DateTimeInterface|\DateInterval|int $decaySeconds
     * @param int $amount
     * @return int
     */
    public function decrement($key, $decaySeconds = 60, $amount = 1)
    {
        return $this->increment($key, $decaySeconds, -$amount);
    }

    /**
     * @param string|int $key
     * @return int
     */
    public function attempts($key)
    {
        return $this->windows()->counter((string) $key);
    }

    /**
     * @param string|int $key
     * @param int|string $maxAttempts
     * @return int
     */
    public function remaining($key, $maxAttempts)
    {
        // `sluice.scale` may leave less than the number says. Older versions go
        // below 0.
        return $this->windows()->look((string) $key, (int) $maxAttempts)->remaining
            ?: min(0, parent::remaining((string) $key, (int) $maxAttempts));
    }

    /**
     * @param string|int $key
     * @return bool
     */
    public function resetAttempts($key)
    {
        $this->windows()->forget((string) $key);
        return true;
    }

    /**
     * @param string|int $key
     * @return void
     */
    public function clear($key)
    {
        $this->windows()->forget((string) $key);
    }

    /**
     * @param string|int $key
     * @return int whole seconds, rounded up
     */
    public function availableIn($key)
    {
        return (int) ceil($this->windows()->look((string) $key, Windows::MOST)->resetAfter);
    }

    /**
     * The key as it is: two different ones never count together.
     *
     * @param string|int $key
     * @return string
     */
    public function cleanRateLimiterKey($key)
    {
        return (string) $key;
    }

    /**
     * The limit that a job has to wait for longest, if it has to.
     *
     * @param array<LaravelLimit> $limits
     * @return array<LaravelLimit>|null
     */
    private function refusing(UnitEnum|string $name, array $limits): ?array
    {
        $name = match (true) {
            $name instanceof BackedEnum => (string) $name->value,
            $name instanceof UnitEnum => $name->name,
            default => $name,
        };
        $longest = 0.0;
        $refusing = null;
        foreach ($limits as $limit) {
            // The key that the job middleware makes of it.
            $seen = $this->windows()->look(md5($name . (string) $limit->key), $limit->maxAttempts);
            $wait = $seen->retryAfter ?? INF;
            if (!$seen->allowed && $wait > $longest) {
                [$longest, $refusing] = [$wait, [$limit]];
            }
        }
        return $refusing;
    }
}
