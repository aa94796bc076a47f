<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Sluice\Decision;
use Sluice\Http\Key;
use Sluice\Limit;
use Sluice\RateLimiter;

/**
 * Laravel's counters on the engine: fixed windows that start at the first hit.
 *
 * Laravel tells the length of a window where it counts and not where it looks,
 * so a window keeps the length that it was opened with. Keys are taken as they
 * are, apart from those of another application by its cache prefix.
 *
 * Holds nothing of a request.
 */
final class Windows
{
    /** What decisions and the log call them. */
    public const NAME = 'throttle';

    /** The most that one counter holds. */
    public const MOST = 32_000_000;

    /** How many limits one question may have. */
    public const MOST_AT_ONCE = 32;

    /** 366 days in seconds. */
    private const LONGEST = 31_622_400;

    /** @param string $prefix what sets this application's keys apart: its cache prefix */
    public function __construct(
        private readonly RateLimiter $limiter,
        private readonly string $prefix,
    ) {
    }

    /** The same for another room of keys: what has a key there is not in this one. */
    public function in(string $room): self
    {
        return new self($this->limiter, Key::of($this->prefix, $room));
    }

    /**
     * A limit as Laravel means it.
     *
     * @param int|float $seconds how long a window lasts that is opened now; one
     *        of no length holds nothing
     */
    public function limit(int $max, int|float $seconds = 60): Limit
    {
        return $seconds <= 0 || $max === PHP_INT_MAX
            ? Limit::none()
            : Limit::fixedWindow(max(0, min($max, self::MOST)), min($seconds, self::LONGEST), asOpened: true)
                ->named(self::NAME);
    }

    /** The engine's key for one of Laravel's. */
    public function key(string $key): string
    {
        return Key::of($this->prefix, $key);
    }

    /** Counts one, if it is within the limit. */
    public function take(string $key, int $max, int|float $seconds): Decision
    {
        return $this->limiter->attempt($this->key($key), $this->limit($max, $seconds));
    }

    /** Waits at most `$longest` seconds for {@see take()}. */
    public function wait(string $key, int $max, int|float $seconds, float $longest): Decision
    {
        $longest = max(0.0, min($longest, (float) self::LONGEST));
        return $this->limiter->wait($this->key($key), $this->limit($max, $seconds), maxWait: $longest);
    }

    /** Whether one more would be within the limit. Counts nothing. */
    public function look(string $key, int $max): Decision
    {
        return $this->limiter->peek($this->key($key), $this->limit($max));
    }

    /** Counts, within a limit or not, and says where the counter is then. */
    public function count(string $key, int|float $seconds, int $amount = 1): int
    {
        $limit = $this->limit(self::MOST, $seconds);
        return self::counted($this->limiter->charge($this->key($key), $limit, $amount));
    }

    /**
     * Counts back, to 0 at most, and says where the counter is then.
     *
     * In two steps: what others count in between may be lost.
     */
    public function countBack(string $key, int $amount): int
    {
        $seen = $this->look($key, self::MOST);
        $left = max(0, self::counted($seen) - $amount);
        $this->forget($key);
        return $left === 0 ? 0 : $this->count($key, $seen->resetAfter, $left);
    }

    /** Where the counter is. */
    public function counter(string $key): int
    {
        return self::counted($this->look($key, self::MOST));
    }

    /** Gives back what was taken. */
    public function giveBack(Decision $taken): void
    {
        $this->limiter->refund($taken);
    }

    public function forget(string $key): void
    {
        $this->limiter->reset($this->key($key), $this->limit(self::MOST));
    }

    private static function counted(Decision $decision): int
    {
        return $decision->limit - $decision->remaining;
    }
}
