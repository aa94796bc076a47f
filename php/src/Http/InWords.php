<?php

declare(strict_types=1);

namespace Sluice\Http;

use Sluice\Decision;

/**
 * A look at a limit in words, for people at a terminal.
 */
final class InWords
{
    /** Whether the next request passes. */
    public static function answer(Decision $look): string
    {
        return match (true) {
            $look->wouldDeny => 'would be refused, if this were enforced',
            $look->allowed => 'passes',
            default => 'is refused',
        };
    }

    /**
     * What is left, and until when: "0 of 2 left; it passes in 60 min; full
     * again in 120 min. Asked: redis."
     */
    public static function rest(Decision $look): string
    {
        $next = match (true) {
            $look->allowed => '',
            $look->retryAfter === null => '; it never passes with these numbers',
            default => '; it passes in ' . self::time($look->retryAfter),
        };
        $full = self::time($look->resetAfter);
        return "{$look->remaining} of {$look->limit} left{$next}; full again in {$full}. Asked: {$look->source->value}.";
    }

    /** A time, rounded up. */
    private static function time(float $seconds): string
    {
        return match (true) {
            $seconds < 1 => sprintf('%d ms', (int) ceil($seconds * 1000)),
            $seconds < 120 => sprintf('%.1f s', ceil($seconds * 10) / 10),
            $seconds < 7200 => sprintf('%d min', (int) ceil($seconds / 60)),
            default => sprintf('%.1f h', ceil($seconds / 360) / 10),
        };
    }
}
