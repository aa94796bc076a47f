<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Closure;
use Illuminate\Cache\RateLimiting\Limit as LaravelLimit;
use Symfony\Component\HttpFoundation\Response;

/**
 * One limit of a request: what Laravel's middleware has of it, in any version.
 */
final class RequestLimit
{
    /**
     * @param float $seconds how long a window lasts
     * @param (Closure(mixed): bool)|null $after whether the answer is to be counted;
     *        null where the request is
     * @param (Closure(mixed, array<string, int>): Response)|null $response makes the
     *        answer of a refusal
     */
    private function __construct(
        public readonly string $key,
        public readonly int $max,
        public readonly float $seconds,
        public readonly ?Closure $after,
        public readonly ?Closure $response,
    ) {
    }

    public static function of(object $theirs): self
    {
        $callable = static fn (mixed $callback): ?Closure =>
            is_callable($callback) ? Closure::fromCallable($callback) : null;
        return new self(
            (string) $theirs->key,
            (int) $theirs->maxAttempts,
            self::seconds($theirs),
            $callable($theirs->afterCallback ?? null),
            $callable($theirs->responseCallback),
        );
    }

    /**
     * The same limits, those with one key told apart by their numbers as from
     * version 11 on.
     *
     * @param array<LaravelLimit> $theirs
     * @return array<LaravelLimit>
     */
    public static function apart(array $theirs): array
    {
        $uses = array_count_values(array_map(static fn (object $limit): string => (string) $limit->key, $theirs));
        foreach ($theirs as $index => $limit) {
            if ($uses[(string) $limit->key] > 1) {
                $prefix = $limit->key ? "{$limit->key}:" : '';
                $seconds = self::seconds($limit);
                $theirs[$index] = (clone $limit)->by("{$prefix}attempts:{$limit->maxAttempts}:decay:{$seconds}");
            }
        }
        return $theirs;
    }

    private static function seconds(object $theirs): float
    {
        return (float) ($theirs->decaySeconds ?? 60 * $theirs->decayMinutes);
    }
}
