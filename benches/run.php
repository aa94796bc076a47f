<?php

declare(strict_types=1);

// Sluice beside its peers, in one run on one machine: ratios, with the goal
// printed next to each. Nothing here is asserted anywhere.

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;

require __DIR__ . '/support.php';

$extension = extensionPath();
$redis = startRedis();

section('One decision in shared memory, beside one apcu_inc()');
$limiter = new TokenBucketLimiter();
$times = sideBySide([
    'apcu_inc()' => fn (int $n) => repeat($n, fn () => apcu_inc('api:report')),
    'allow(), allowed' => fn (int $n) => repeat($n, fn () => $limiter->allow('api:report', 30_000_000, 1_000_000)),
    'allow(), denied' => fn (int $n) => repeat($n, fn () => $limiter->allow('api:denied', 1, 1 / 3600)),
    'attempt(), a Decision' => fn (int $n) => repeat($n, fn () => $limiter->attempt('api:report', 30_000_000, 1_000_000)),
    'fixed_window_limit()' => fn (int $n) => repeat($n, fn () => fixed_window_limit('api:window', 30_000_000, 3600)),
    'hrtime(), only reads a clock' => fn (int $n) => repeat($n, fn () => hrtime(true)),
], 1_000_000);
foreach ($times as $name => $ns) {
    $goal = str_starts_with($name, 'allow()') ? '<= 0.8' : '';
    row($name, sprintf('%.0f ns', $ns), sprintf('%.2f x apcu_inc()', $ns / $times['apcu_inc()']), $goal);
}

section('A thousand keys, and a million in the same 32 MB');
$perKeys = [];
foreach ([1_000, 1_000_000] as $keys) {
    $perKeys[$keys] = (float) inChild($extension, <<<'PHP'
        [, $keys] = $argv;
        $limiter = new TokenBucketLimiter();
        for ($i = 0; $i < $keys; $i++) { $limiter->allow("user:$i", 1000, 1 / 86400); }
        $n = 1_000_000;
        $best = INF;
        for ($round = 0; $round < 3; $round++) {
            $start = hrtime(true);
            for ($i = 0, $k = 1; $i < $n; $i++) { $k = ($k * 48271) % 2147483647; $limiter->allow('user:' . $k % $keys, 1000, 1 / 86400); }
            $allowed = hrtime(true) - $start;
            $start = hrtime(true);
            for ($i = 0, $k = 1; $i < $n; $i++) { $k = ($k * 48271) % 2147483647; strlen('user:' . $k % $keys); }
            $best = min($best, ($allowed - (hrtime(true) - $start)) / $n);
        }
        $evicted = Sluice\Store::sharedMemory()->status()['sharedMemory']['evictions'];
        if ($evicted !== 0) { fwrite(STDERR, "evicted $evicted live keys\n"); exit(1); }
        echo $best;
        PHP, [(string) $keys]);
}
row('1 000 keys, at random', sprintf('%.0f ns', $perKeys[1_000]), '', '');
row('1 000 000 keys, none lost', sprintf('%.0f ns', $perKeys[1_000_000]), sprintf('%.2f x a thousand', $perKeys[1_000_000] / $perKeys[1_000]), '<= 3');

section('One decision by Redis, over a Unix socket');
$onRedis = new TokenBucketLimiter("unix://$redis");
$phpredis = new Redis();
$phpredis->connect($redis);
// The very script and arguments that allow() sends, as Redis' own monitor has
// seen them.
$onRedis->allow('bench', 1_000_000, 1_000_000);
[$sha, $arguments] = lastEvalsha($redis, fn () => $onRedis->allow('bench', 1_000_000, 1_000_000));
$times = sideBySide([
    'redis-benchmark -c 1, EVALSHA' => fn (int $n) => redisBenchmark($redis, $n, ['EVALSHA', $sha, '1', ...$arguments]),
    'phpredis, evalSha()' => fn (int $n) => repeat($n, fn () => $phpredis->evalSha($sha, $arguments, 1)),
    'allow()' => fn (int $n) => repeat($n, fn () => $onRedis->allow('bench', 1_000_000, 1_000_000)),
], 20_000);
foreach ($times as $name => $ns) {
    row(
        $name,
        sprintf('%.1f us', $ns / 1000),
        sprintf('%.2f x redis-benchmark', $ns / $times['redis-benchmark -c 1, EVALSHA']),
        $name === 'allow()' ? '<= 1.1' : '',
    );
}

section('Each kind, allowed and refused');
$kinds = [
    'token bucket' => [Limit::tokenBucket(30_000_000, 1_000_000), Limit::tokenBucket(1, 1, per: 3600)],
    'leaky bucket' => [Limit::leakyBucket(30_000_000, 1_000_000), Limit::leakyBucket(1, 1, per: 3600)],
    'fixed window' => [Limit::fixedWindow(30_000_000, 3600), Limit::fixedWindow(1, 3600)],
    'sliding window' => [Limit::slidingWindow(30_000_000, 3600), Limit::slidingWindow(1, 3600)],
    'quota' => [Limit::quota(30_000_000, Period::Day), Limit::quota(1, Period::Day)],
];
foreach (['shared memory' => [new Limiter(), 200_000], 'Redis' => [new Limiter("unix://$redis"), 5_000]] as $store => [$limiter, $n]) {
    $measures = [];
    foreach ($kinds as $kind => [$allowing, $refusing]) {
        $limiter->allow("refused:$kind", $refusing);
        $measures["$kind, $store"] = fn (int $n) => repeat($n, fn () => $limiter->allow("allowed:$kind", $allowing));
        $measures["$kind, $store, refused"] = fn (int $n) => repeat($n, fn () => $limiter->allow("refused:$kind", $refusing));
    }
    $slots = Limit::concurrency(10);
    $measures["acquire + release, $store"] = fn (int $n) => repeat($n, fn () => $limiter->acquire('slots', $slots)->release());
    $times = sideBySide($measures, $n);
    foreach ($times as $name => $ns) {
        $base = $times["token bucket, $store"];
        row($name, $ns < 10_000 ? sprintf('%.0f ns', $ns) : sprintf('%.1f us', $ns / 1000), sprintf('%.2f x token bucket', $ns / $base), '');
    }
}

section('A composite, beside as many single calls');
foreach (['shared memory' => [new Limiter(), 50_000], 'Redis' => [new Limiter("unix://$redis"), 2_000]] as $store => [$limiter, $n]) {
    foreach ([1, 2, 4, 8] as $size) {
        $limits = [];
        for ($i = 0; $i < $size; $i++) {
            $limits[] = Limit::tokenBucket(30_000_000, 1_000_000)->by("part:$i");
        }
        $times = sideBySide([
            'single' => fn (int $n) => repeat($n, function () use ($limiter, $limits): void {
                foreach ($limits as $i => $limit) {
                    $limiter->attempt("part:$i", $limit);
                }
            }),
            'composite' => fn (int $n) => repeat($n, fn () => $limiter->attemptAll(...$limits)),
        ], $n);
        row("attemptAll() of $size, $store", sprintf('%.1f us', $times['composite'] / 1000), sprintf('%.2f x %d x attempt()', $times['composite'] / $times['single'], $size), '');
    }
}

section('System calls per decision, by strace -c');
foreach (['shared memory' => ['null', 0], 'Redis, warm' => ["'unix://$redis'", 2]] as $name => [$store, $goal]) {
    $few = systemCalls($extension, $store, 1_000);
    $many = systemCalls($extension, $store, 3_000);
    row($name, sprintf('%.2f', ($many - $few) / 2_000), '', "<= $goal");
}

section("A worker's private memory, after a thousand decisions");
$body = <<<'PHP'
    for ($i = 0; $i < 1000; $i++) { %s }
    // What is mapped shared belongs to all workers together.
    $kib = 0;
    foreach (file('/proc/self/smaps') as $line) {
        if (preg_match('/^[0-9a-f]+-[0-9a-f]+ ...(.)/', $line, $m)) { $private = $m[1] === 'p'; }
        elseif ($private && preg_match('/^Private_\w+:\s+(\d+)/', $line, $m)) { $kib += $m[1]; }
    }
    echo $kib;
    PHP;
$without = (int) inChild('', sprintf($body, 'md5("key:$i");'));
$with = (int) inChild($extension, sprintf($body, '(new TokenBucketLimiter())->allow("key:$i", 10, 1);'));
row('without the extension', sprintf('%.1f MB', $without / 1024), '', '');
row('with it', sprintf('%.1f MB', $with / 1024), sprintf('+ %.1f MB', ($with - $without) / 1024), '<= + 2 MB');
echo "\n";
