<?php

declare(strict_types=1);

namespace Sluice\Http;

/**
 * Bytes of a client as text for a log: keys, URIs, and names of users.
 */
final class LogText
{
    /** Characters that are kept: a log is no place for 64 KiB of one client's. */
    private const MOST = 1000;

    /**
     * The same text where it is harmless; else with its bytes escaped as in C,
     * so that nobody ends a line, rings a bell or turns text around.
     *
     * ```php
     * LogText::of("ann\n[critical] all is lost");   // 'ann\n[critical] all is lost'
     * ```
     */
    public static function of(string $bytes): string
    {
        if (preg_match('/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/uD', $bytes) !== 1) {
            $bytes = addcslashes($bytes, "\0..\37\\\177..\377");
        }
        preg_match('/^.{0,' . self::MOST . '}/su', $bytes, $start);
        return $start[0] === $bytes ? $bytes : $start[0] . '…';
    }
}
