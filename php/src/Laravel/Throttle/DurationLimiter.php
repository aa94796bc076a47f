<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Illuminate\Container\Container;
use Illuminate\Contracts\Redis\LimiterTimeoutException;
use Illuminate\Support\InteractsWithTime;
use Sluice\Decision;

/**
 * Stands for `Illuminate\Redis\Limiters\DurationLimiter`: what the job middleware
 * `RateLimitedWithRedis` and `ThrottlesExceptionsWithRedis` and
 * `Redis::throttle()` count by. Counts on the engine, and asks no connection.
 */
final class DurationLimiter
{
    use InteractsWithTime;

    /** @var int when the window ends, as a Unix time */
    public $decaysAt;

    /** @var int what is left in it */
    public $remaining;

    private readonly Windows $windows;
    private readonly string $key;
    private readonly int $max;

    /**
     * @param mixed $redis a connection; it is not asked
     * @param string $name
     * @param int $maxLocks how many in a window
     * @param int $decay seconds that a window lasts
     */
    public function __construct($redis, $name, $maxLocks, private $decay)
    {
        // The rate limiter, too, has keys; they are others.
        $this->windows = Container::getInstance()->make(Windows::class)->in('redis');
        $this->key = (string) $name;
        $this->max = (int) $maxLocks;
    }

    /**
     * @param int $timeout seconds to wait at most
     * @param callable|null $callback
     * @param int $sleep of no use here: it sleeps until its turn, and not at all
     *        if that would take too long
     * @return mixed
     * @throws LimiterTimeoutException
     */
    public function block($timeout, $callback = null, $sleep = 750)
    {
        if (!$this->keep($this->windows->wait($this->key, $this->max, $this->decay, (float) $timeout))->allowed) {
            throw new LimiterTimeoutException();
        }
        return is_callable($callback) ? $callback() : true;
    }

    /** @return bool */
    public function acquire()
    {
        return $this->keep($this->windows->take($this->key, $this->max, $this->decay))->allowed;
    }

    /** @return bool */
    public function tooManyAttempts()
    {
        return !$this->keep($this->windows->look($this->key, $this->max))->allowed;
    }

    /** @return void */
    public function clear()
    {
        $this->windows->forget($this->key);
    }

    private function keep(Decision $decision): Decision
    {
        $this->remaining = $decision->remaining;
        // What refuses for ever is asked again after a window, and so is a
        // window that nobody has opened.
        $this->decaysAt = $this->currentTime() + (int) ceil($decision->resetAfter ?: $this->decay);
        return $decision;
    }
}
