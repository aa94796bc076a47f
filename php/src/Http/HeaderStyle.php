<?php

declare(strict_types=1);

namespace Sluice\Http;

use Sluice\Decision;

/**
 * The headers that a framework's users already read.
 */
enum HeaderStyle: string
{
    /** Those of the extension, by `sluice.headers`: the IETF draft's and `X-RateLimit-*`. */
    case Standard = 'standard';

    /** `X-RateLimit-Limit`, `-Remaining`; with a denial `Retry-After`, `X-RateLimit-Reset`. */
    case Laravel = 'laravel';

    /** `X-Rate-Limit-Limit`, `-Remaining`, `-Reset`; with a denial `Retry-After`. */
    case Think = 'think';

    /** None. */
    case None = 'none';

    /**
     * @return array<string, string>
     */
    public function of(Decision $decision): array
    {
        return match ($this) {
            self::Standard => $decision->headers(),
            self::Laravel => self::laravel($decision),
            self::Think => self::think($decision),
            self::None => [],
        };
    }

    /** Whole seconds until the same request would pass, at least 1; null if it may pass now, or never. */
    public static function retryAfter(Decision $decision): ?int
    {
        $after = $decision->retryAfter;
        return $decision->allowed || $after === null ? null : max(1, (int) ceil($after));
    }

    /** @return array<string, string> */
    private static function laravel(Decision $decision): array
    {
        $headers = self::numbers($decision, 'X-RateLimit');
        $after = self::retryAfter($decision);
        if ($headers !== [] && $after !== null) {
            $headers += ['Retry-After' => (string) $after, 'X-RateLimit-Reset' => (string) (time() + $after)];
        }
        return $headers;
    }

    /** @return array<string, string> */
    private static function think(Decision $decision): array
    {
        $headers = self::numbers($decision, 'X-Rate-Limit');
        $after = self::retryAfter($decision);
        if ($headers !== []) {
            $headers['X-Rate-Limit-Reset'] = (string) (time() + (int) ceil($decision->resetAfter));
            $headers += $after === null ? [] : ['Retry-After' => (string) $after];
        }
        return $headers;
    }

    /** @return array<string, string> none where nothing is limited */
    private static function numbers(Decision $decision, string $prefix): array
    {
        return $decision->limit === PHP_INT_MAX ? [] : [
            $prefix . '-Limit' => (string) $decision->limit,
            $prefix . '-Remaining' => (string) $decision->remaining,
        ];
    }
}
