<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

use Sluice\Store;

/** The stores that have to answer alike, each as a function that makes it. */
final class Stores
{
    /** @return iterable<string, array{callable(): Store}> for a data provider */
    public static function all(): iterable
    {
        yield 'shared memory' => [Store::sharedMemory(...)];
        yield 'Redis' => [fn () => Store::redis(RedisServer::start()->dsn())];
        yield 'a fake' => [fn () => Store::fake()];
    }
}
