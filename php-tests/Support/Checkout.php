<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/**
 * A framework that not every machine has: a variable of the environment says
 * where it is.
 *
 * Where the variable is not set its tests are not run, which is no failure, but
 * is said aloud: once, on stderr.
 *
 * ```php
 * $app = Checkout::of('THINKPHP_DIR', 'ThinkPHP 6 and 8: a checkout with its vendor directory');
 * if ($app === null) {
 *     $this->expectNotToPerformAssertions();
 *     return;
 * }
 * ```
 */
final class Checkout
{
    /** @var array<string, true> */
    private static array $told = [];

    /**
     * The directory that the variable names; null, and a line on stderr, if it
     * is not set.
     *
     * @param string $variable such as `THINKPHP_DIR`
     * @param string $what what is not tested without it, and what it should name
     * @throws \RuntimeException if it names what is no directory
     */
    public static function of(string $variable, string $what): ?string
    {
        $directory = getenv($variable);
        if ($directory === false || $directory === '') {
            if (!isset(self::$told["{$variable} {$what}"])) {
                self::$told["{$variable} {$what}"] = true;
                fwrite(STDERR, "\nNot run: {$what}. Set {$variable} to run it.\n");
            }
            return null;
        }
        $path = realpath($directory);
        if ($path === false || !is_dir($path)) {
            throw new \RuntimeException("{$variable} names no directory: {$directory}");
        }
        return $path;
    }
}
