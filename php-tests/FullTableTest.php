<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;

/** Shared memory that is full makes room; it never refuses a key for lack of it. */
final class FullTableTest extends TestCase
{
    public function testEveryNewKeyIsAdmittedAndEvictionsAreCounted(): void
    {
        $seen = PhpProcess::with(['sluice.shm_size' => '64K'])->code(<<<'PHP'
            $admitted = 0;
            for ($key = 0; $key < 20_000; $key++) {
                $admitted += (int) fixed_window_limit("key{$key}", 1, 3600);
            }
            $status = Sluice\Store::sharedMemory()->status()['sharedMemory'];
            echo json_encode([$admitted, $status['slots'], $status['live'] + $status['evictions']]);
            PHP)->json();
        self::assertSame([20_000, 4096, 20_000], $seen);
    }

    public function testWhatExpiresSoonestIsEvictedFirst(): void
    {
        $remembered = PhpProcess::with(['sluice.shm_size' => '64K'])->code(<<<'PHP'
            for ($key = 0; $key < 100; $key++) {
                fixed_window_limit("long{$key}", 1, 86_400);
            }
            for ($key = 0; $key < 20_000; $key++) {
                fixed_window_limit("short{$key}", 1, 3600);
            }
            $remembered = 0;
            for ($key = 0; $key < 100; $key++) {
                $remembered += (int) !fixed_window_limit("long{$key}", 1, 86_400);
            }
            echo json_encode($remembered);
            PHP)->json();
        self::assertSame(100, $remembered);
    }
}
