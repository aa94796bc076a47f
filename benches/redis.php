<?php

declare(strict_types=1);

// What stands in front of Redis: refusals from the near state, tokens from
// leases, and answers while the breaker is open.

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Source;

require __DIR__ . '/support.php';

$extension = extensionPath();
$redis = startRedis();
$dsn = "unix://$redis";

section('Refused: by what this host last heard of Redis, beside asking it');
$full = Limit::tokenBucket(1, 1, per: 86_400);
$limiter = new Limiter($dsn);
$limiter->allow('full', $full);
ini_set('sluice.near', '0');
$asking = new Limiter($dsn);
ini_restore('sluice.near');
$phpredis = new Redis();
$phpredis->connect($redis);
[$sha, $arguments] = lastEvalsha($redis, fn () => $asking->allow('full', $full));
expect($limiter->attempt('full', $full)->source === Source::NearState, 'the near state answers');
expect($asking->attempt('full', $full)->source === Source::Redis, 'Redis answers where it is switched off');
$times = sideBySide([
    'apcu_inc()' => fn (int $n) => repeat($n, fn () => apcu_inc('full')),
    'near state' => fn (int $n) => repeat($n, fn () => $limiter->allow('full', $full)),
    'asking Redis (sluice.near = 0)' => fn (int $n) => repeat((int) ($n / 50), fn () => $asking->allow('full', $full)) * 50,
    'phpredis, evalSha()' => fn (int $n) => repeat((int) ($n / 50), fn () => $phpredis->evalSha($sha, $arguments, 1)) * 50,
], 200_000);
foreach ($times as $name => $ns) {
    row($name, nanoseconds($ns), sprintf('%.2f x apcu_inc()', $ns / $times['apcu_inc()']), $name === 'near state' ? '<= 1.2' : '');
}
row('asking, against the near state', '', sprintf('%.0f x', $times['asking Redis (sluice.near = 0)'] / $times['near state']), '>= 200');

section('Leased token buckets: commands per decision, and decisions a second');
foreach ([1, 10, 100] as $keys) {
    $rates = [];
    foreach (['each decision asks' => false, 'leased' => true] as $name => $leased) {
        $limit = Limit::tokenBucket(20_000, 20_000);
        $limit = $leased ? $limit->leased() : $limit;
        $decisions = $keys === 1 ? 15_000 : 40_000;
        $before = commands($phpredis);
        $start = hrtime(true);
        for ($i = 0; $i < $decisions; $i++) {
            $limiter->allow("$name:$keys:" . $i % $keys, $limit);
        }
        $rates[$name] = $decisions / (hrtime(true) - $start) * 1e9;
        row(
            sprintf('%d hot %s, %s', $keys, $keys === 1 ? 'key' : 'keys', $name),
            number_format($rates[$name]) . '/s',
            sprintf('%.2f x, %.3f commands each', $rates[$name] / $rates['each decision asks'], (commands($phpredis) - $before) / $decisions),
            '',
        );
    }
}

section('Redis gone: a decision while the breaker is open');
$gone = new Limiter('redis://127.0.0.1:1');
$limit = Limit::tokenBucket(30_000_000, 1_000_000);
for ($i = 0; $i < 100; $i++) {
    $gone->allow('gone', $limit);
}
$times = sideBySide(['breaker open' => fn (int $n) => repeat($n, fn () => $gone->allow('gone', $limit))], 100_000);
row('allow(), by this host alone', nanoseconds($times['breaker open']), '', '< 10 us');
echo "\n";

function commands(Redis $redis): int
{
    return array_sum(array_map(
        static fn (string $stats): int => (int) substr(strtok($stats, ','), strlen('calls=')),
        array_intersect_key($redis->info('commandstats'), ['cmdstat_evalsha' => 0]),
    ));
}

function nanoseconds(float $ns): string
{
    return $ns < 10_000 ? sprintf('%.0f ns', $ns) : sprintf('%.1f us', $ns / 1000);
}

function expect(bool $is, string $what): void
{
    if (!$is) {
        fwrite(STDERR, "expected that $what\n");
        exit(1);
    }
}
