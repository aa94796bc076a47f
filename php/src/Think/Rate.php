<?php

declare(strict_types=1);

namespace Sluice\Think;

use InvalidArgumentException;

/**
 * A rate as think-throttle writes it: so many requests in so many seconds.
 *
 * ```php
 * Rate::parse('10/m');      // ten in 60 seconds
 * Rate::parse('200/300');   // two hundred in 300 seconds
 * ```
 */
final class Rate
{
    private const SECONDS = ['s' => 1, 'm' => 60, 'h' => 3600, 'd' => 86400];

    /**
     * @param int $requests from 0 on; 0 refuses everything
     * @param int $seconds from 1 to 31 622 400 (366 days)
     */
    public function __construct(public readonly int $requests, public readonly int $seconds)
    {
    }

    /**
     * Reads `10/s`, `10/m`, `10/h`, `10/d`, or `10/300` for 300 seconds.
     *
     * @throws InvalidArgumentException for anything else
     */
    public static function parse(string $text): self
    {
        if (preg_match('~^(\d{1,8})/([smhd]|\d{1,8})$~D', $text, $found) !== 1) {
            throw new InvalidArgumentException(
                "the rate \"{$text}\" is not of the form \"10/m\" (s, m, h or d) or \"200/300\" (seconds);"
                . ' for a spec such as "20/s burst 100" there is "policy"'
            );
        }
        $seconds = self::SECONDS[$found[2]] ?? (int) $found[2];
        if ($seconds < 1 || $seconds > 366 * 86400) {
            throw new InvalidArgumentException(
                "the rate \"{$text}\" must be for 1 to 31622400 seconds (366 days), such as \"200/300\""
            );
        }
        return new self((int) $found[1], $seconds);
    }
}
