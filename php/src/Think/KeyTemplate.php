<?php

declare(strict_types=1);

namespace Sluice\Think;

use Closure;
use Sluice\Http\Key;

/**
 * A key of think-throttle's: text with `__CONTROLLER__`, `__ACTION__`, `__IP__`
 * and `__SESSION__` in it.
 */
final class KeyTemplate
{
    private const PLACES = '/(__(?:CONTROLLER|ACTION|IP|SESSION)__)/';

    /**
     * The text filled in. What comes in never runs into what stands beside it, and
     * is not looked at for places again: two different callers never have one key.
     *
     * ```php
     * KeyTemplate::fill('__IP__/export', fn (string $place): string => $ip);
     * ```
     *
     * @param Closure(string): string $value what a place, such as `__IP__`, stands for
     */
    public static function fill(string $template, Closure $value): string
    {
        $pieces = preg_split(self::PLACES, $template, -1, PREG_SPLIT_DELIM_CAPTURE) ?: [$template];
        foreach ($pieces as $number => $piece) {
            // The places are at odd numbers, between the text around them.
            $pieces[$number] = $number % 2 === 1 ? $value($piece) : $piece;
        }
        return Key::of(...$pieces);
    }
}
