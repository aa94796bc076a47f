<?php

// Uses all there is, once or a few times, right and wrong. Argument: a DSN.

declare(strict_types=1);

use Sluice\Failure;
use Sluice\FixedWindowLimiter;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;
use Sluice\Store;

function refused(callable $call): void
{
    try {
        $call();
    } catch (Throwable $exception) {
        (string) $exception;
        return;
    }
    exit('not refused');
}

$useAll = function (TokenBucketLimiter $buckets, FixedWindowLimiter $windows): void {
    foreach (['', "\0\xff", 'a key', str_repeat('k', 65_536)] as $key) {
        $buckets->allow($key, 2, 0.5);
        $decision = $buckets->attempt($key, 2, 0.5, requested: 2);
        $buckets->peek($key, 2, 1 / 3);
        $buckets->reset($key);
        $windows->allow($key, 2);
        $windows->attempt($key, 2, 60.5, 3);
        $windows->peek($key, 2, 60);
        $windows->reset($key, 60);
        $decision->headers();
        $decision->toArray();
        json_encode($decision, JSON_INVALID_UTF8_SUBSTITUTE);
        ob_start();
        var_dump($decision, $buckets);
        $decision->send();
        ob_end_clean();
    }
};

$useLimiter = function (Limiter $limiter): void {
    $limits = [
        '2/m', '2/m fixed', '2/s burst 2', '2/s queue 2', '2 per day Asia/Shanghai', '2 concurrent', Limit::none(),
        Limit::deny(), Limit::slidingWindow(2, 0.5)->named('a.name')->onFailure(Failure::Local, 0.5),
        Limit::quota(2, Period::Month)->dryRun(), Limit::parse('2 concurrent lease 5m'),
    ];
    foreach ($limits as $limit) {
        $limiter->allow('k', $limit);
        $decision = $limiter->attempt('k', $limit);
        $limiter->peek('k', $limit);
        $limiter->refund($decision);
        json_encode($decision);
        foreach (['reserve', 'wait', 'charge', 'acquire'] as $method) {
            try {
                $limiter->{$method}('k', $limit, ...($method === 'acquire' ? [] : [1]));
            } catch (ValueError) {
                // Not for this kind.
            }
        }
        $limiter->reset('k', $limit);
        $limit = is_string($limit) ? Limit::parse($limit) : $limit;
        $decision = $limiter->attemptAll($limit->by('k'), $limit->by(5), Limit::concurrency(3)->by("\0\xff"));
        $decision->headers();
        $decision->toArray();
        $decision->permit?->renew();
        $limiter->refund($decision, 1);
    }
    $limiter->run('k', '2 concurrent', fn () => str_repeat('x', 100));
    refused(fn () => $limiter->run('k', '2 concurrent', fn () => throw new DomainException()));
    refused(fn () => $limiter->run('k', '0 concurrent', fn () => 1));
    refused(fn () => $limiter->run('k', '2 concurrent', 'no function'));
    refused(fn () => $limiter->allow('k', '5 fortnights'));
    refused(fn () => $limiter->allow('k', 'no.policy'));
    refused(fn () => $limiter->attemptAll(Limit::none()));
    refused(fn () => Limit::quota(1, Period::Day, 'Mars/Olympus'));
    refused(fn () => Limit::none()->named(''));
    // Held to the end.
    $limiter->acquire('last', '2 concurrent');
};
foreach ([null, $argv[1], Store::memory(), 'redis://127.0.0.1:1'] as $store) {
    $useLimiter(new Limiter($store));
}

$useAll(new TokenBucketLimiter(), new fixed_window_limit());
$useAll(new TokenBucketLimiter($argv[1]), new FixedWindowLimiter(Store::redis($argv[1], ['prefix' => 'x:'])));
$useAll(new TokenBucketLimiter('redis://127.0.0.1:1'), new FixedWindowLimiter('redis://localhost:1?timeout=5s'));
$useAll(new TokenBucketLimiter(Store::memory()), new FixedWindowLimiter(Store::sharedMemory()));
$fake = Store::fake(new DateTimeImmutable());
$useAll(new TokenBucketLimiter(), new FixedWindowLimiter());
$fake->advance(1.5);
fixed_window_limit('k', limit: 1, requested: 1);
foreach ([$fake, Store::sharedMemory(), Store::redis($argv[1])] as $store) {
    $store->status();
}
Store::restore();

$limiter = new TokenBucketLimiter($argv[1]);
$decision = $limiter->attempt('k', 1, 1);
foreach (
    [
        fn () => $limiter->allow('k', -1, 1),
        fn () => $limiter->allow('k', 1, NAN),
        fn () => $limiter->allow('k'),
        fn () => $limiter->allow([], 1, 1),
        fn () => new TokenBucketLimiter('no DSN'),
        fn () => new TokenBucketLimiter([]),
        fn () => $limiter->__construct('redis://:pass@'),
        fn () => Store::redis($argv[1], ['tiemout' => 1]),
        fn () => Store::fake(-1.0),
        fn () => Store::sharedMemory()->advance(1.0),
        fn () => clone $decision,
        fn () => serialize($limiter),
        fn () => $decision->allowed = true,
    ] as $wrong
) {
    refused($wrong);
}

foreach (['allow', 'deny', 'local'] as $policy) {
    ini_set('sluice.on_failure', $policy);
    (new TokenBucketLimiter('redis://127.0.0.1:1'))->attempt('k', 1, 1);
}
ini_set('sluice.on_failure', 'throw');
refused(fn () => (new TokenBucketLimiter('redis://127.0.0.1:1'))->attempt('k', 1, 1));
@ini_set('sluice.timeout', 'soon');
@ini_set('sluice.store', 'nowhere');
ini_set('sluice.store', $argv[1]);
ini_set('sluice.mode', 'observe');
ini_set('sluice.scale', '0.5');
fixed_window_limit('k', 3);

ob_start();
phpinfo(INFO_MODULES);
ob_end_clean();
// The gate, as a call.
ini_set('sluice.mode', 'enforce');
foreach (['/', '/few/a?b=1', '/few/../few/%61', '/few/a?b=1', '/few/a?b=1', '/denied', '/few;x/' . str_repeat('y', 100_000)] as $uri) {
    $denied = Sluice\Gate::check([
        'REQUEST_URI' => $uri, 'REMOTE_ADDR' => '203.0.113.7', 'HTTP_COOKIE' => 'a=1', 'REMOTE_PORT' => 5,
    ]);
    json_encode([$denied, Sluice\Gate::decision(), Sluice\Gate::rule(), Sluice\Gate::answer()]);
}
Sluice\Gate::finish();
Sluice\Gate::check();
json_encode([Sluice\Gate::status(), Sluice\Gate::validate(__FILE__), Sluice\Gate::validate(ini_get('sluice.config'))]);

echo 'did it all';
