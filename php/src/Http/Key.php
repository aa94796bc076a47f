<?php

declare(strict_types=1);

namespace Sluice\Http;

/**
 * Keys made of several parts.
 */
final class Key
{
    /**
     * One key of these parts, such that two different lists never give the
     * same: each part carries its length. Nothing is cleaned, folded or cut.
     *
     * ```php
     * Key::of('user', '42', 'GET /orders');   // "4:user,2:42,11:GET /orders"
     * ```
     */
    public static function of(string ...$parts): string
    {
        return implode(',', array_map(static fn (string $part): string => strlen($part) . ':' . $part, $parts));
    }
}
