<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

use Sluice\Store;

/** Leaves nothing behind: no server, no process, no fake store, no directive. */
abstract class TestCase extends \PHPUnit\Framework\TestCase
{
    protected function tearDown(): void
    {
        Store::restore();
        array_map(ini_restore(...), array_keys(ini_get_all('sluice', false)));
        Running::stopAll();
    }

    /** A key that no other test has used: shared memory outlives a test. */
    protected static function freshKey(): string
    {
        return bin2hex(random_bytes(8));
    }
}
