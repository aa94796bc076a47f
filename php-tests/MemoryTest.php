<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** However often it is asked, a process is as large as before. */
final class MemoryTest extends TestCase
{
    public function testAMillionCallsInSharedMemory(): void
    {
        self::assertDoesNotGrow('', 1_000_000);
    }

    public function testAHundredThousandCallsOnRedis(): void
    {
        // A tenth, since each is a round trip: what leaks shows anyway.
        self::assertDoesNotGrow(RedisServer::start()->dsn(), 100_000);
    }

    public function testAHundredThousandFaults(): void
    {
        self::assertDoesNotGrow(RedisServer::absent()->dsn(), 100_000);
    }

    public function testAMillionCallsWithAFake(): void
    {
        self::assertDoesNotGrow('fake', 1_000_000);
    }

    private static function assertDoesNotGrow(string $store, int $calls): void
    {
        $sizes = PhpProcess::with()->fixture('many-calls.php', $store, (string) $calls)->json();
        self::assertSame($sizes['before']['php'], $sizes['after']['php']);
        // Eight bytes a call would be more; an allocator's whims are less.
        self::assertLessThan(512 << 10, $sizes['after']['process'] - $sizes['before']['process']);
    }
}
