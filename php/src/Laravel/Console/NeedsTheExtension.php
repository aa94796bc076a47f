<?php

declare(strict_types=1);

namespace Sluice\Laravel\Console;

/**
 * What the commands have in common: what was typed, and what they have to say
 * about the PHP they run in.
 *
 * @phpstan-require-extends \Illuminate\Console\Command
 * @mixin \Illuminate\Console\Command
 */
trait NeedsTheExtension
{
    /** What was typed; empty if nothing was. */
    private static function text(mixed $typed): string
    {
        return is_string($typed) ? $typed : '';
    }

    private function hasTheExtension(): bool
    {
        if (!extension_loaded('sluice')) {
            $this->error('The PHP extension "sluice" is not loaded in the PHP of the command line.');
            return false;
        }
        return true;
    }

    /** A command that looks at counts must see those of php-fpm. */
    private function warnOfMemoryOfItsOwn(): void
    {
        if (ini_get('sluice.store') === '' && ini_get('sluice.shm_path') === '') {
            $this->line(
                '<comment>The counts are in shared memory, and the command line has one of its own: what php-fpm '
                . 'counted is not seen here. Set sluice.shm_path in both, or keep counts in Redis.</comment>',
            );
        }
    }
}
