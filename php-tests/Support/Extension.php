<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** The build under test. */
final class Extension
{
    /** The `.so` that SLUICE_SO names, or that a release build leaves behind. */
    public static function path(): string
    {
        $given = getenv('SLUICE_SO') ?: dirname(__DIR__, 2) . '/target/release/libsluice.so';
        $path = realpath($given);
        if ($path === false) {
            throw new \RuntimeException("there is no extension at {$given}; build it, or set SLUICE_SO");
        }
        return $path;
    }
}
