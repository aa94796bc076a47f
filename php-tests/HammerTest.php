<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\Hammering;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** Eight processes at one bucket get what it promises: no more, and no less. */
final class HammerTest extends TestCase
{
    public function testInSharedMemory(): void
    {
        self::assertHoldsOn('');
    }

    public function testOnRedis(): void
    {
        self::assertHoldsOn(RedisServer::start()->dsn());
    }

    private static function assertHoldsOn(string $dsn): void
    {
        $hammering = Hammering::soon();
        $result = PhpProcess::with()->fixture('hammer-forked.php', ...array_map(strval(...), [
            Hammering::PROCESSES, $dsn, Hammering::CAPACITY, Hammering::RATE, $hammering->from, $hammering->until,
        ]));
        $hammering->assertHeld(...$result->json());
    }
}
