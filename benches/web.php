<?php

declare(strict_types=1);

// What a request costs that is limited, and one that is refused: requests a
// second through the same nginx and the same php-fpm, in one run.
//
// usage: php -d extension=/path/to/libsluice.so benches/web.php [SECONDS]

require __DIR__ . '/support.php';
require __DIR__ . '/servers.php';
require __DIR__ . '/web/laravel.php';

$extension = extensionPath();
$seconds = (int) ($argv[1] ?? 3);
$web = __DIR__ . '/web';
$socket = startRedis();
$laravel = laravelApps($extension, $socket);
$site = new WebServer(
    [
        '= /ok' => "$web/ok.php",
        '= /gate' => "$web/ok.php",
        '= /native' => "$web/native.php",
        '= /redis' => "$web/redis.php",
        '= /phpredis' => "$web/phpredis.php",
        '= /symfony' => "$web/symfony.php",
        '/api/plain/' => $laravel['plain'],
        '/api/file/' => $laravel['file'],
        '/api/dropin/' => $laravel['dropin'],
    ],
    4,
    ['extension' => [$extension, ...LARAVEL_NEEDS], 'sluice.config' => "$web/gate.toml"],
    ['BENCH_REDIS' => "unix://$socket"],
);

const CONNECTIONS = 16;

/**
 * The best of three rounds, in turns, so that a busy moment strikes all alike.
 *
 * @param array<string, array{string, int}> $cases a path, and the status that all but the first few answers must have
 * @return array<string, float> requests a second
 */
function rounds(WebServer $site, array $cases, int $seconds): array
{
    $best = array_fill_keys(array_keys($cases), 0.0);
    for ($round = 0; $round < 3; $round++) {
        foreach ($cases as $name => [$path, $status]) {
            fwrite(STDERR, sprintf("\r  round %d of 3: %-40s", $round + 1, $name));
            $load = $site->load($path, CONNECTIONS, $seconds);
            $others = array_diff_key($load['statuses'], [$status => 0]);
            if (array_sum($others) > 100) {
                fwrite(STDERR, "\n$name: expected $status, got " . json_encode($load['statuses']) . "\n");
                exit(1);
            }
            $best[$name] = max($best[$name], $load['rate']);
        }
    }
    fwrite(STDERR, "\r" . str_repeat(' ', 60) . "\r");
    return $best;
}

function table(string $title, array $rates, string $base, array $goals): void
{
    printf("\n%s\n  %-38s %12s   %-22s %s\n", $title, '', 'requests/s', 'ratio', 'goal');
    foreach ($rates as $name => $rate) {
        printf("  %-38s %12s   %-22s %s\n", $name, number_format($rate), sprintf('%.2f x', $rate / $rates[$base]), $goals[$name] ?? '');
    }
}

$refusing = rounds($site, [
    'a script that says ok' => ['/ok', 200],
    '429 by the gate' => ['/gate', 429],
    '429 at the top of a script' => ['/native?refuse', 429],
    "429 by Laravel's throttle" => ['/api/plain/throttle/full', 429],
    "429 by Laravel's throttle:redis" => ['/api/plain/throttle-redis/full', 429],
], $seconds);
table('Refusing', $refusing, 'a script that says ok', ['429 by the gate' => '>= 0.9 x']);
printf(
    "  the gate against Laravel's throttle: %.0f x (goal >= 20 x)\n",
    $refusing['429 by the gate'] / $refusing["429 by Laravel's throttle"],
);

$limiters = [
    'throttle, cache in files' => '/api/file/throttle',
    'throttle, cache in Redis' => '/api/plain/throttle',
    'throttle:redis' => '/api/plain/throttle-redis',
    'drop-in for throttle, shared memory' => '/api/dropin/throttle',
    'sluice, shared memory' => '/api/plain/sluice',
];
foreach (['open' => 200, 'full' => 429] as $end => $status) {
    $cases = ['no limiter' => ['/api/plain/none', 200]];
    foreach ($limiters as $name => $path) {
        $cases[$name] = ["$path/$end", $status];
    }
    table('A route of Laravel, ' . ($status === 200 ? 'allowed' : 'refused'), rounds($site, $cases, $seconds), 'no limiter', []);
}

table('Redis behind a script that says ok', rounds($site, [
    'no limiter' => ['/ok', 200],
    'sluice, shared memory' => ['/native', 200],
    'sluice on Redis' => ['/redis', 200],
    'phpredis with an equal script' => ['/phpredis', 200],
    "Symfony's RateLimiter on Redis" => ['/symfony', 200],
    'refused: sluice on Redis' => ['/redis?refuse', 429],
    'refused: phpredis' => ['/phpredis?refuse', 429],
    "refused: Symfony's RateLimiter" => ['/symfony?refuse', 429],
], $seconds), 'no limiter', []);
