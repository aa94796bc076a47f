<?php

// What a process does that hammers, and what is left of the bucket afterwards.

declare(strict_types=1);

/**
 * Asks for one key without a pause until the time is up.
 *
 * @return array{began: int, admitted: int, pid: int}
 */
function hammer(string $dsn, int $capacity, int $rate, int $from, int $until): array
{
    ini_set('sluice.on_failure', 'throw');
    $limiter = new Sluice\TokenBucketLimiter($dsn ?: null);
    while (hrtime(true) < $from) {
        // Everybody starts at once.
    }
    $admitted = (int) $limiter->allow('hammered', $capacity, $rate);
    $began = hrtime(true);
    while (hrtime(true) < $until) {
        $admitted += (int) $limiter->allow('hammered', $capacity, $rate);
    }
    return ['began' => $began, 'admitted' => $admitted, 'pid' => getmypid()];
}

/**
 * Looks at the bucket, and at the clock before and after.
 *
 * @return array{left: int, before: int, after: int}
 */
function look(string $dsn, int $capacity, int $rate): array
{
    ini_set('sluice.on_failure', 'throw');
    $limiter = new Sluice\TokenBucketLimiter($dsn ?: null);
    return [
        'before' => hrtime(true),
        'left' => $limiter->peek('hammered', $capacity, $rate)->remaining,
        'after' => hrtime(true),
    ];
}
