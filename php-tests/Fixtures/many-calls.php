<?php

// Makes so many calls, of every kind, and prints how large PHP's memory and the
// whole process were before and after. Arguments: DSN, "fake" or nothing, and
// the number of calls.

declare(strict_types=1);

[, $store, $calls] = $argv;
if ($store === 'fake') {
    Sluice\Store::fake();
    $store = null;
}

function callAll(?string $store, int $calls): void
{
    $limiter = new Sluice\TokenBucketLimiter($store ?: null);
    for ($call = 0; $call < $calls; $call += 25) {
        $key = 'key' . $call % 7;
        $limiter->allow($key, 100, 0.5);
        $decision = $limiter->attempt($key, 100, 0.5);
        $decision->headers();
        $decision->toArray();
        $limiter->peek("{$key} of another length", 100, 0.5);
        $limiter->reset($key);
        $windows = new Sluice\FixedWindowLimiter($store ?: null);
        $windows->allow($key, 5, 60);
        $windows->attempt($key, 5, 60, 6);
        $windows->reset($key, 60);
        fixed_window_limit($key, 5);
        callLimiter($store, $key, $call);
        try {
            $limiter->allow($key, -1, 1);
        } catch (ValueError) {
        }
        try {
            new Sluice\TokenBucketLimiter("no DSN {$call}");
        } catch (Sluice\ConfigException) {
        }
    }
}

function callLimiter(?string $store, string $key, int $call): void
{
    $limiter = new Sluice\Limiter($store ?: null);
    $limiter->allow($key, '100/m');
    $limiter->attempt($key, Sluice\Limit::leakyBucket(100, 5)->named('queue'));
    $limiter->reserve($key, '100/s burst 100', maxWait: 5.0);
    $limiter->wait($key, '100/m fixed');
    $limiter->refund($limiter->charge($key, '100 per day UTC', 5), 3);
    $limiter->acquire($key, '5 concurrent')?->release();
    $decision = $limiter->attempt($key, '5 concurrent');
    $decision->permit?->renew();
    $limiter->refund($decision);
    $decision = $limiter->attemptAll(
        Sluice\Limit::slidingWindow(100, 60)->by($key)->dryRun(),
        Sluice\Limit::parse('100 per day Asia/Shanghai')->by($call)->onFailure(Sluice\Failure::Local),
        Sluice\Limit::concurrency(5)->by($key),
    );
    $decision->headers();
    $decision->toArray();
    $limiter->refund($decision);
    $limiter->reset((string) $call, '100 per day Asia/Shanghai');
    try {
        $limiter->run($key, '5 concurrent', fn () => throw new DomainException());
    } catch (DomainException | Sluice\DeniedException) {
    }
    try {
        $limiter->allow($key, "{$call} fortnights");
    } catch (ValueError) {
    }
    try {
        $limiter->allow($key, "policy{$call}");
    } catch (ValueError) {
    }
}

function sizeOfTheProcess(): int
{
    preg_match('/^RssAnon:\s+(\d+) kB/m', file_get_contents('/proc/self/status'), $found);
    return $found[1] << 10;
}

$php = $process = [0, 0, 0];
// What is allocated once is there after a first, shorter round.
foreach ([max(1000, intdiv((int) $calls, 20)), 1000, (int) $calls] as $round => $callsOfRound) {
    callAll($store, $callsOfRound);
    $php[$round] = memory_get_usage();
    $process[$round] = sizeOfTheProcess();
}
echo json_encode([
    'before' => ['php' => $php[1], 'process' => $process[1]],
    'after' => ['php' => $php[2], 'process' => $process[2]],
]);
