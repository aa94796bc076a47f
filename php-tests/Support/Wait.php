<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** Waiting for another process, which no fake clock can move. */
final class Wait
{
    /** Far more than anything here takes, so that a slow machine is no failure. */
    public const PATIENCE = 30.0;

    /** Asks again and again until the answer is not false or null. */
    public static function until(string $what, callable $isSo, float $seconds = self::PATIENCE): mixed
    {
        $giveUp = hrtime(true) + (int) ($seconds * 1e9);
        while (true) {
            $answer = $isSo();
            if ($answer !== false && $answer !== null) {
                return $answer;
            }
            if (hrtime(true) > $giveUp) {
                throw new \RuntimeException("waited {$seconds} s in vain: {$what}");
            }
            usleep(2000);
        }
    }
}
