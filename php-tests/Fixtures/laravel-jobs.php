<?php

declare(strict_types=1);

// What becomes of jobs that are throttled. In the booted application; prints one
// line of JSON. `$redis` says whether by the middleware for Redis.

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Pipeline\Pipeline;
use Illuminate\Queue\Middleware\RateLimited;
use Illuminate\Queue\Middleware\RateLimitedWithRedis;
use Illuminate\Queue\Middleware\ThrottlesExceptions;
use Illuminate\Queue\Middleware\ThrottlesExceptionsWithRedis;
use Illuminate\Support\Facades\RateLimiter;

class ThrottledJob
{
    public mixed $outcome = null;
    public object $job;

    public function __construct(public string $account = 'a', public bool $fails = false)
    {
        $this->job = new class {
            public function uuid(): string
            {
                return 'uuid';
            }
        };
    }

    public function release(int|float $delay = 0): void
    {
        $this->outcome = ['released' => $delay];
    }

    public function through(object $middleware): mixed
    {
        $passed = (new Pipeline(app()))->send($this)->through([$middleware])->then(function (self $job): string {
            $job->outcome = 'ran';
            return $job->fails ? throw new DomainException('broken') : 'done';
        });
        return [$this->outcome, $passed];
    }
}

$limited = $redis ? RateLimitedWithRedis::class : RateLimited::class;
$throttles = $redis ? ThrottlesExceptionsWithRedis::class : ThrottlesExceptions::class;
$times = static fn (int $times, Closure $do): array => array_map(static fn () => $do(), range(1, $times));
$said = [];

RateLimiter::for('jobs', static fn (ThrottledJob $job) => Limit::perMinute(2)->by($job->account));
$said['a named limiter'] = $times(3, static fn () => (new ThrottledJob())->through(new $limited('jobs')));
$said['another account'] = (new ThrottledJob('b'))->through(new $limited('jobs'));
$said['not released'] = (new ThrottledJob())->through((new $limited('jobs'))->dontRelease());
$said['out of a queue'] = (new ThrottledJob())->through(unserialize(serialize(new $limited('jobs'))));
$said['a limiter that nobody named'] = (new ThrottledJob())->through(new $limited('nobody'));

RateLimiter::for('unlimited', static fn () => Limit::none());
$said['no limit'] = $times(2, static fn () => (new ThrottledJob())->through(new $limited('unlimited')));

RateLimiter::for('hours', static fn () => Limit::perHour(1));
$said['hours'] = $times(2, static fn () => (new ThrottledJob())->through(new $limited('hours')));

RateLimiter::for('several', static fn (ThrottledJob $job) => [
    Limit::perMinute(1)->by("account:{$job->account}"),
    Limit::perMinute(2)->by('all'),
]);
$said['the first of two refuses'] = $times(2, static fn () => (new ThrottledJob())->through(new $limited('several')));
$said['the second of two refuses'] = [
    (new ThrottledJob('b'))->through(new $limited('several')),
    (new ThrottledJob('c'))->through(new $limited('several')),
];

$fail = static fn (object $middleware, bool $fails = true) => (new ThrottledJob(fails: $fails))->through($middleware);
$said['exceptions'] = $times(3, static fn () => $fail(new $throttles(2, 10)));
$said['another key'] = $times(2, static fn () => $fail((new $throttles(1, 10))->by('key')));
$said['a backoff'] = $fail((new $throttles(1, 10))->by('backoff')->backoff(5));
$said['by job'] = $times(2, static fn () => $fail((new $throttles(1, 10))->byJob()));
$said['a success clears'] = [
    $fail((new $throttles(2, 10))->by('clears')),
    $fail((new $throttles(2, 10))->by('clears'), false),
    ...$times(3, static fn () => $fail((new $throttles(2, 10))->by('clears'))),
];
try {
    $fail((new $throttles(1, 10))->by('when')->when(static fn (Throwable $error) => !$error instanceof DomainException));
} catch (DomainException $error) {
    $said['not this exception'] = $error->getMessage();
}

echo json_encode($said, JSON_THROW_ON_ERROR);
