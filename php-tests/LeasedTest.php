<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;

/** Tokens that a host takes ahead: few calls for many decisions, and never one too many. */
final class LeasedTest extends TestCase
{
    /** @dataProvider forms */
    public function testAHotKeyCostsRedisLittle(Limit|string $limit): void
    {
        $server = RedisServer::start();
        $store = Store::redis($server->dsn());
        $limiter = new Limiter($store);
        $server->resetStatistics();
        $sources = [];
        for ($call = 1; $call <= 2000; $call++) {
            $decision = $limiter->attempt('k', $limit);
            self::assertTrue($decision->allowed);
            self::assertGreaterThanOrEqual(0.0, $decision->resetAfter);
            self::assertLessThanOrEqual(100_000 - $call, $decision->remaining);
            $sources[] = $decision->source->value;
        }
        $calls = $server->callsOf('evalsha');
        self::assertLessThan(200, $calls);
        self::assertSame(['lease' => 2000 - $calls, 'redis' => $calls], self::counted($sources));
        self::assertSame(['allowed' => 2000 - $calls], $store->status()['leases']);
    }

    public static function forms(): iterable
    {
        yield 'a limit' => [Limit::tokenBucket(100_000, 1, per: 3600)->leased()];
        yield 'a spec' => ['1/h burst 100000 leased'];
    }

    public function testAPolicyCanBeLeased(): void
    {
        $file = TempDir::make()->write('sluice.toml', "[limits]\nhot = { spec = \"1/h burst 100000\", leased = true }\n");
        $server = RedisServer::start();
        $result = PhpProcess::with(['sluice.config' => $file, 'sluice.store' => $server->dsn()])->code(<<<'PHP'
            $limiter = new Sluice\Limiter();
            $sources = array_map(fn () => $limiter->attempt('k', 'hot')->source->value, range(1, 100));
            echo json_encode(in_array('lease', $sources));
            PHP);
        self::assertTrue($result->json());
    }

    /** @dataProvider otherKinds */
    public function testOnlyATokenBucketCanBeLeased(Limit $limit, string $kind): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage("only a token bucket can be leased, and this is a {$kind}");
        $limit->leased();
    }

    public static function otherKinds(): iterable
    {
        yield [Limit::leakyBucket(1, 1), 'leaky bucket'];
        yield [Limit::fixedWindow(1, 1), 'fixed window'];
        yield [Limit::slidingWindow(1, 1), 'sliding window'];
        yield [Limit::concurrency(1), 'concurrency limit'];
        yield [Limit::none(), 'limit of none'];
    }

    public function testTheLimitItselfDoesNotChange(): void
    {
        $server = RedisServer::start();
        $limit = Limit::tokenBucket(1000, 1);
        $limit->leased();
        $limiter = new Limiter($server->dsn());
        for ($call = 0; $call < 50; $call++) {
            self::assertSame(Source::Redis, $limiter->attempt('k', $limit)->source);
        }
    }

    public function testInSharedMemoryItMakesNoDifference(): void
    {
        $key = self::freshKey();
        $limiter = new Limiter(Store::sharedMemory());
        foreach ([true, true, false] as $allowed) {
            $decision = $limiter->attempt($key, '1/h burst 2 leased');
            self::assertSame([$allowed, Source::SharedMemory], [$decision->allowed, $decision->source]);
        }
    }

    public function testWhatALeaseGaveGoesBack(): void
    {
        $server = RedisServer::start();
        $limiter = new Limiter($server->dsn());
        do {
            $decision = $limiter->attempt('k', '1/h burst 1000 leased');
        } while ($decision->source !== Source::Lease);
        $limiter->refund($decision);
        $again = $limiter->attempt('k', '1/h burst 1000 leased');
        self::assertSame($decision->remaining, $again->remaining);
    }

    /** Two pools without a file are two hosts. */
    public function testTwoHostsTogetherNeverGiveOutTooMuch(): void
    {
        $server = RedisServer::start();
        $requests = [];
        foreach ([1, 2] as $host) {
            $pool = FpmPool::start(4, ['sluice.store' => $server->dsn()]);
            $script = $pool->script('take.php', <<<'PHP'
                $limiter = new Sluice\Limiter();
                [$admitted, $leased, $refused] = [0, 0, 0];
                while ($refused < 5) {
                    $decision = $limiter->attempt('k', '1/h burst 20000 leased');
                    $decision->allowed ? $admitted++ : $refused++;
                    $leased += (int) ($decision->source === Sluice\Source::Lease);
                }
                echo json_encode([$admitted, $leased]);
                PHP);
            for ($worker = 0; $worker < 4; $worker++) {
                $requests[] = $pool->send($script);
            }
        }
        $seen = array_map(fn ($request) => $request->response()->json(), $requests);
        $admitted = array_sum(array_column($seen, 0));
        self::assertLessThanOrEqual(20_000, $admitted);
        self::assertGreaterThan(15_000, $admitted);
        self::assertGreaterThan($admitted / 2, array_sum(array_column($seen, 1)));
    }

    /** A worker may be killed anywhere: between Redis and the lease, or while it takes from it. */
    public function testKilledWorkersMakeNoTokens(): void
    {
        $server = RedisServer::start();
        $log = TempDir::make()->file('admitted');
        $result = PhpProcess::with(['extension' => 'posix', 'sluice.store' => $server->dsn()])->code(<<<'PHP'
            $work = function () use ($argv): never {
                $limiter = new Sluice\Limiter();
                $log = fopen($argv[1], 'a');
                $until = microtime(true) + 5;
                while (microtime(true) < $until) {
                    // A byte for each, at once: a killed worker has told all it had.
                    $limiter->allow('k', '1/h burst 30000 leased') && fwrite($log, '.');
                }
                exit;
            };
            $workers = [];
            $until = microtime(true) + 3;
            for ($killed = 0; microtime(true) < $until; $killed++) {
                while (count($workers) < 6) {
                    $workers[] = pcntl_fork() ?: $work();
                }
                usleep(random_int(0, 20_000));
                $worker = array_splice($workers, array_rand($workers), 1)[0];
                posix_kill($worker, SIGKILL);
                pcntl_waitpid($worker, $status);
            }
            foreach ($workers as $worker) {
                posix_kill($worker, SIGKILL);
                pcntl_waitpid($worker, $status);
            }
            // Nothing is blocked by what they left behind.
            usleep(200_000);
            echo json_encode([$killed, (new Sluice\Limiter())->attempt('other', '1/h burst 9 leased')->allowed]);
            PHP, $log);
        [$killed, $allowed] = $result->json();
        self::assertGreaterThan(50, $killed);
        self::assertTrue($allowed);
        self::assertGreaterThan(1000, filesize($log));
        self::assertLessThanOrEqual(30_000, filesize($log));
    }

    /** @param list<string> $sources */
    private static function counted(array $sources): array
    {
        $counts = array_count_values($sources);
        ksort($counts);
        return $counts;
    }
}
