<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** What Redis refused once this host refuses by itself, for a while. */
final class NearStateTest extends TestCase
{
    private RedisServer $server;

    protected function setUp(): void
    {
        $this->server = RedisServer::start();
    }

    /** @dataProvider limits */
    public function testARefusalCostsRedisNothing(string $spec): void
    {
        $limiter = new Limiter($this->server->dsn());
        self::assertTrue($limiter->attempt('k', $spec, 2)->allowed);
        $this->server->resetStatistics();
        foreach (range(1, 100) as $_) {
            $decision = $limiter->attempt('k', $spec, 2);
            self::assertSame([false, Source::NearState], [$decision->allowed, $decision->source]);
            self::assertSame([3, 1], [$decision->limit, $decision->remaining]);
            self::assertGreaterThan(0.0, $decision->retryAfter);
            self::assertFalse($limiter->allow('k', $spec, 2));
        }
        self::assertSame(0, $this->server->callsOf('evalsha'));
        // A refusal of two is none of one.
        self::assertSame(Source::Redis, $limiter->attempt('k', $spec)->source);
    }

    public static function limits(): iterable
    {
        yield 'token bucket' => ['3/h burst 3'];
        yield 'leaky bucket' => ['3/h queue 3'];
        yield 'fixed window' => ['3/h fixed'];
        yield 'sliding window' => ['3/h'];
        yield 'quota' => ['3/month UTC'];
    }

    public function testZeroTurnsItOff(): void
    {
        ini_set('sluice.near', '0');
        $limiter = new Limiter($this->server->dsn());
        $limiter->allow('k', '1/h');
        self::assertSame(Source::Redis, $limiter->attempt('k', '1/h')->source);
    }

    public function testItIsAskedAboutAgainAfterItsTime(): void
    {
        ini_set('sluice.near', '50ms');
        $limiter = new Limiter($this->server->dsn());
        $limiter->allow('k', '1/h');
        $this->server->command('FLUSHALL');
        $started = hrtime(true);
        while (!$limiter->allow('k', '1/h')) {
            self::assertLessThan(5e9, hrtime(true) - $started, 'it is refused for ever');
        }
    }

    public function testWhatIsGivenBackIsThereAtOnce(): void
    {
        $limiter = new Limiter($this->server->dsn());
        $taken = $limiter->attempt('k', '1/h');
        self::assertFalse($limiter->allow('k', '1/h'));
        $limiter->refund($taken);
        self::assertTrue($limiter->allow('k', '1/h'));
        self::assertFalse($limiter->allow('k', '1/h'));
        $limiter->reset('k', '1/h');
        self::assertTrue($limiter->allow('k', '1/h'));
    }

    public function testACompositeIsRefusedWithAllItsParts(): void
    {
        $limiter = new Limiter($this->server->dsn());
        $parts = [Limit::slidingWindow(1, 3600)->by('k'), Limit::fixedWindow(10, 3600)->by('k')];
        self::assertTrue($limiter->attemptAll(...$parts)->allowed);
        $this->server->resetStatistics();
        $refused = $limiter->attemptAll(...$parts);
        self::assertFalse($refused->allowed);
        self::assertSame([Source::NearState, Source::NearState], array_column($refused->parts, 'source'));
        self::assertSame([0, 9], array_column($refused->parts, 'remaining'));
        self::assertSame(0, $this->server->callsOf('evalsha'));
    }

    public function testTheStatusTellsOfIt(): void
    {
        $store = Store::redis($this->server->dsn());
        $limiter = new Limiter($store);
        self::assertSame(['seconds' => 1.0, 'refused' => 0], $store->status()['near']);
        $limiter->allow('k', '1/h');
        $limiter->allow('k', '1/h');
        self::assertSame(['seconds' => 1.0, 'refused' => 1], $store->status()['near']);
    }

    /** Other processes of the host know it as well; without shared memory nobody does, and all goes on. */
    public function testWithoutSharedMemoryRedisIsAsked(): void
    {
        $result = PhpProcess::with(['sluice.shm_path' => '/nowhere/table'])->code(<<<'PHP'
            $limiter = new Sluice\Limiter($argv[1]);
            echo json_encode(array_map(fn () => $limiter->attempt('k', '1/h')->source, [1, 2]));
            PHP, $this->server->dsn());
        self::assertSame(['redis', 'redis'], json_decode($result->stdout, true));
    }

    public function testEightWorkersThatHammerCostRedisAboutACallASecond(): void
    {
        $pool = FpmPool::start(8, ['sluice.store' => $this->server->dsn()]);
        $script = $pool->script('hammer.php', <<<'PHP'
            $limiter = new Sluice\Limiter();
            $until = hrtime(true) + 2_500_000_000;
            $refused = $admitted = 0;
            while (hrtime(true) < $until) {
                $limiter->allow('k', '5/h') ? $admitted++ : $refused++;
                usleep(500);
            }
            echo json_encode([$admitted, $refused]);
            PHP);
        $this->server->resetStatistics();
        $requests = [];
        for ($worker = 0; $worker < 8; $worker++) {
            $requests[] = $pool->send($script);
        }
        $seen = array_map(fn ($request) => $request->response()->json(), $requests);
        self::assertSame(5, array_sum(array_column($seen, 0)));
        self::assertGreaterThan(1000, array_sum(array_column($seen, 1)));
        // Five that were let in, eight that came at the same time as the last
        // of them, and one or two a second, with as many for a busy machine.
        self::assertLessThan(30, $this->server->callsOf('evalsha'));
    }
}
