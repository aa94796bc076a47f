<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\Hammering;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** Eight workers of php-fpm at one bucket get what it promises. */
final class FpmHammerTest extends TestCase
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
        $pool = FpmPool::start(Hammering::PROCESSES);
        $hammering = Hammering::soon();
        $bucket = ['dsn' => $dsn, 'capacity' => Hammering::CAPACITY, 'rate' => Hammering::RATE];
        $times = ['from' => $hammering->from, 'until' => $hammering->until];
        $requests = [];
        for ($worker = 0; $worker < Hammering::PROCESSES; $worker++) {
            // A worker has one request at a time, so each gets one.
            $requests[] = $pool->send('hammer-request.php', $bucket + $times);
        }
        $seen = array_map(fn ($request) => $request->response()->json(), $requests);
        $hammering->assertHeld($seen, $pool->get('hammer-request.php', $bucket)->json());
    }
}
