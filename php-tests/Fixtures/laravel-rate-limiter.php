<?php

declare(strict_types=1);

// What the RateLimiter facade says, step by step, under a time that only this
// script moves. In the booted application; prints one line of JSON.

use Illuminate\Support\Carbon;
use Illuminate\Support\Facades\RateLimiter;

$store = Sluice\Store::fake();
// Laravel counts in whole seconds of the clock.
Carbon::setTestNow(Carbon::createFromTimestamp(1_700_000_000));
$wait = static function (int $seconds) use ($store): void {
    Carbon::setTestNow(Carbon::now()->addSeconds($seconds));
    $store->advance($seconds);
};
$all = static fn (string $key, int $max): array => [
    'attempts' => (int) RateLimiter::attempts($key),
    'tooMany' => RateLimiter::tooManyAttempts($key, $max),
    'remaining' => RateLimiter::remaining($key, $max),
    'retriesLeft' => RateLimiter::retriesLeft($key, $max),
    'availableIn' => RateLimiter::availableIn($key),
];
$said = [];

$said['nothing yet'] = $all('k', 2);
$said['hit'] = [RateLimiter::hit('k'), $all('k', 2)];
$wait(10);
$said['hit again'] = [RateLimiter::hit('k'), $all('k', 2)];
$said['beyond the limit'] = [RateLimiter::hit('k'), RateLimiter::attempts('k'), RateLimiter::tooManyAttempts('k', 2)];
$said['under another limit'] = $all('k', 5);
$wait(49);
$said['just before the end'] = $all('k', 2);
// Laravel's array cache still has it in the second it ends in.
$wait(2);
$said['after the end'] = $all('k', 2);
$said['the next window'] = [RateLimiter::hit('k', 5), $all('k', 1)];
$wait(6);
$said['a short one ends'] = $all('k', 1);

$said['the first hit sets the length'] = [
    RateLimiter::hit('l', 30), RateLimiter::hit('l', 3600), RateLimiter::availableIn('l'),
];
$wait(31);
$said['and another length does not prolong it'] = [RateLimiter::attempts('l'), RateLimiter::hit('l', 3600), RateLimiter::availableIn('l')];
RateLimiter::clear('l');
$said['clear'] = $all('l', 1);
$said['clear of nothing'] = [RateLimiter::clear('nothing'), $all('nothing', 1)];

RateLimiter::hit('m');
RateLimiter::hit('m');
RateLimiter::resetAttempts('m');
$said['resetAttempts'] = [(int) RateLimiter::attempts('m'), RateLimiter::tooManyAttempts('m', 1), RateLimiter::remaining('m', 3)];
$said['hit after it'] = [RateLimiter::hit('m'), RateLimiter::tooManyAttempts('m', 1)];

$tries = [];
foreach ([static fn () => 'done', static fn () => null, static fn () => false, static fn () => 0, static fn () => []] as $callback) {
    $tries[] = RateLimiter::attempt('a', 4, $callback, 20);
}
$said['attempt'] = [$tries, $all('a', 4)];
$wait(21);
$said['attempt in the next window'] = RateLimiter::attempt('a', 4, static fn () => 'again', 20);
try {
    RateLimiter::attempt('b', 1, static fn () => throw new DomainException('broken'));
} catch (DomainException $broken) {
    $said['attempt that fails'] = [$broken->getMessage(), $all('b', 1)];
}

$limiter = app(Illuminate\Cache\RateLimiter::class);
if (method_exists(Illuminate\Cache\RateLimiter::class, 'increment')) {
    $said['increment'] = [RateLimiter::increment('i', 60, 3), RateLimiter::increment('i', amount: 2), $all('i', 6)];
}
if (method_exists(Illuminate\Cache\RateLimiter::class, 'decrement')) {
    $said['decrement'] = [RateLimiter::decrement('i', 60, 2), RateLimiter::decrement('i'), $all('i', 6)];
}
$said['decay as a time'] = version_compare(app()->version(), '12', '<') ? 'not yet' : [
    RateLimiter::hit('d', new DateInterval('PT90S')), RateLimiter::availableIn('d'),
    RateLimiter::hit('e', Carbon::now()->addMinutes(3)), RateLimiter::availableIn('e'),
];
$said['numbers as text'] = [RateLimiter::hit('n', 60), RateLimiter::tooManyAttempts('n', '1')];
$said['keys'] = array_map(static fn (string $key): array => [RateLimiter::hit($key), RateLimiter::attempts($key)], [
    '', '0', 'with space', "line\nbreak", str_repeat('long', 1000), 'user:7|192.0.2.1', '日本',
]);
RateLimiter::for('named', static fn (): string => 'limits');
$said['names'] = [RateLimiter::limiter('named')(), RateLimiter::limiter('nobody')];
$said['class'] = [$limiter instanceof Illuminate\Cache\RateLimiter, $limiter === app(Illuminate\Cache\RateLimiter::class)];

echo json_encode($said, JSON_THROW_ON_ERROR);
