<?php

declare(strict_types=1);

namespace Sluice\Laravel\Jobs;

use Closure;
use Illuminate\Container\Container;
use RuntimeException;
use Sluice\Decision;
use Sluice\Http\Facts;
use Sluice\Laravel\NamedLimits;
use Sluice\Laravel\Presence;
use Sluice\Limit;
use Sluice\RateLimiter;

/**
 * Job middleware: a job that is over its limit goes back to the queue for
 * exactly as long as it has to wait.
 *
 * ```php
 * public function middleware(): array
 * {
 *     return [new RateLimited('sms', '10 concurrent')];
 * }
 * ```
 *
 * A queue counts in whole seconds, so the wait is rounded up. Releasing a job
 * counts as an attempt: give it a `retryUntil()` rather than `$tries`.
 *
 * Without {@see by()} a policy's `route` is the class of the job, `client` is
 * everybody, and `account:FIELD` is a property of the job, private ones too. Permits of
 * concurrency limits are held while the job runs.
 *
 * It holds texts only and may be serialized with the job.
 */
final class RateLimited
{
    /** What can never pass with today's numbers: looked at again after a minute. */
    private const NEVER = 60;

    /** @var list<string> */
    private readonly array $limits;
    private ?string $key = null;
    private bool $release = true;

    /**
     * @param string ...$limits names of {@see \Sluice\Laravel\Sluice::for()}, policies, or specs,
     *        asked at once: if one refuses, none is charged
     */
    public function __construct(string ...$limits)
    {
        $this->limits = array_values($limits);
    }

    /** Goes by this key, whatever the policy says. */
    public function by(string|int $key): self
    {
        $this->key = (string) $key;
        return $this;
    }

    /** A job over its limit is dropped, not released. */
    public function dontRelease(): self
    {
        $this->release = false;
        return $this;
    }

    /** @param callable(object): mixed $next */
    public function handle(object $job, callable $next): mixed
    {
        $app = Container::getInstance();
        if (!$app->make(Presence::class)->limits()) {
            return $next($job);
        }
        $limits = $this->limits($app->make(NamedLimits::class), $job);
        if ($limits === []) {
            return $next($job);
        }
        $decision = $app->make(RateLimiter::class)->attemptAll(...$limits);
        if (!$decision->allowed) {
            return $this->release ? $job->release(self::delay($decision)) : null;
        }
        try {
            return $next($job);
        } finally {
            foreach ([$decision, ...$decision->parts] as $part) {
                $part->permit?->release();
            }
        }
    }

    /** @return list<Limit> */
    private function limits(NamedLimits $named, object $job): array
    {
        $facts = new Facts(
            ip: '',
            route: $job::class,
            method: 'JOB',
            input: Closure::bind(static fn (string $field): mixed => $job->{$field} ?? null, null, $job::class),
        );
        $limits = $named->of($this->limits, [], $facts, $job);
        if (!is_array($limits)) {
            $names = implode(', ', $this->limits);
            throw new RuntimeException("a limiter of \"{$names}\" returned a Response, which a job cannot send");
        }
        $key = $this->key;
        return $key === null ? $limits : array_map(static fn (Limit $limit): Limit => $limit->by($key), $limits);
    }

    /** Whole seconds, rounded up. */
    private static function delay(Decision $decision): int
    {
        return $decision->retryAfter === null ? self::NEVER : max(1, (int) ceil($decision->retryAfter));
    }
}
