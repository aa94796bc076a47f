<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\Wait;

/** Behind a real php-fpm: what workers share, what they keep, what they forget. */
final class FpmTest extends TestCase
{
    public function testAllWorkersShareOneTable(): void
    {
        $pool = FpmPool::start(4);
        $script = $pool->script('take.php', <<<'PHP'
            usleep(5000); // long enough for the next request to go to another
            echo json_encode([getmypid(), fixed_window_limit('k', 100, 3600)]);
            PHP);
        $answers = array_map(fn ($response) => $response->json(), $pool->getMany(200, 8, $script));
        self::assertCount(4, array_unique(array_column($answers, 0)));
        self::assertCount(100, array_filter(array_column($answers, 1)));
    }

    public function testThousandsOfRequestsCostAConnectionAWorkerAndLoadEachScriptOnceAWorker(): void
    {
        $server = RedisServer::start();
        $server->resetStatistics();
        $pool = FpmPool::start(4, ['sluice.store' => $server->dsn()]);
        $script = $pool->script('take.php', <<<'PHP'
            usleep(200);
            $limiter = new Sluice\TokenBucketLimiter();
            echo json_encode([getmypid(), $limiter->attempt('k', 10_000, 1)->source]);
            PHP);
        $answers = array_map(fn ($response) => $response->json(), $pool->getMany(3000, 8, $script));
        self::assertCount(4, array_unique(array_column($answers, 0)));
        self::assertSame(['redis'], array_values(array_unique(array_column($answers, 1))));
        self::assertSame(4, $server->statistic('stats', 'total_connections_received'));
        // Six scripts, loaded by each worker.
        self::assertSame(6, $server->statistic('memory', 'number_of_cached_scripts'));
        self::assertSame(24, $server->callsOf('script|load'));
        self::assertSame(3000, $server->callsOf('evalsha'));
    }

    public function testAFakeDoesNotOutliveItsRequest(): void
    {
        $pool = FpmPool::start(1);
        $script = $pool->script('fake.php', <<<'PHP'
            isset($_GET['fake']) && Sluice\Store::fake();
            echo json_encode((new Sluice\TokenBucketLimiter())->attempt('k', 5, 1)->source);
            PHP);
        self::assertSame('memory', $pool->get($script, ['fake' => 1])->json());
        self::assertSame('shared-memory', $pool->get($script)->json());
    }

    public function testADirectiveThatARequestChangesDoesNotOutliveIt(): void
    {
        $pool = FpmPool::start(1);
        $script = $pool->script('change.php', <<<'PHP'
            isset($_GET['store']) && ini_set('sluice.store', $_GET['store']);
            isset($_GET['mode']) && ini_set('sluice.mode', $_GET['mode']);
            $decision = (new Sluice\TokenBucketLimiter())->attempt('k', 0, 1);
            echo json_encode([$decision->source, $decision->allowed]);
            PHP);
        self::assertSame(['redis', false], $pool->get($script, ['store' => 'redis://127.0.0.1'])->json());
        self::assertSame(['memory', true], $pool->get($script, ['mode' => 'off'])->json());
        self::assertSame(['shared-memory', false], $pool->get($script)->json());
    }

    /** A fatal error leaves by longjmp, over our frames as over PHP's. */
    public function testAFatalErrorInTheMiddleOfACallLeavesTheWorkerWhole(): void
    {
        $server = RedisServer::start();
        $pool = FpmPool::start(1, [
            'sluice.store' => $server->dsn(),
            'memory_limit' => '8M',
            'display_errors' => '0',
            'log_errors' => '0',
        ]);
        $fatal = $pool->script('fatal.php', <<<'PHP'
            $limiter = new Sluice\TokenBucketLimiter($_GET['shared'] ? Sluice\Store::sharedMemory() : null);
            // Room for the references is taken ahead, so that memory runs out
            // in a decision and not beside it.
            $all = new SplFixedArray(200_000);
            for ($call = 0; $call < 200_000; $call++) {
                $all[$call] = $limiter->attempt('k', 30_000_000, 1)->headers();
            }
            PHP);
        $ask = $pool->script('ask.php', <<<'PHP'
            $sources = array_map(
                fn ($store) => (new Sluice\TokenBucketLimiter($store))->attempt('k', 30_000_000, 1)->source,
                [null, Sluice\Store::sharedMemory()],
            );
            echo json_encode([getmypid(), $sources]);
            PHP);
        $before = $pool->get($ask)->json();
        self::assertSame(['redis', 'shared-memory'], $before[1]);
        foreach ([0, 1] as $shared) {
            self::assertSame(500, $pool->get($fatal, ['shared' => $shared])->status);
            self::assertSame($before, $pool->get($ask)->json());
        }
        self::assertSame(1, substr_count($server->command('CLIENT', 'LIST'), 'cmd=evalsha'));
    }

    /** A killed worker must neither block the others nor falsify the count. */
    public function testAWorkerKilledInTheMiddleLosesAtMostWhatItHadJustTaken(): void
    {
        $pool = FpmPool::start(3);
        $dir = TempDir::make();
        for ($round = 0; $round < 20; $round++) {
            $stop = $dir->file("{$round}.stop");
            $logs = $requests = [];
            foreach (range(0, 2) as $worker) {
                $logs[] = $log = $dir->write("{$round}.{$worker}", '');
                $requests[] = $pool->send('take-and-tell.php', ['key' => $round, 'log' => $log, 'stop' => $stop]);
            }
            Wait::until('all workers take', fn () => min(array_map(self::sizeOf(...), $logs)) > 100);
            posix_kill((int) file_get_contents("{$logs[1]}.pid"), SIGKILL);
            touch($stop);
            $requests[0]->response();
            $requests[2]->response();

            $taken = 30_000_000 - $pool->get('take-and-tell.php', ['key' => $round])->json();
            $told = array_sum(array_map(self::sizeOf(...), $logs));
            // The killed one may have taken a last token without telling.
            self::assertContains($taken - $told, [0, 1]);
        }
    }

    private static function sizeOf(string $file): int
    {
        clearstatcache();
        return filesize($file);
    }
}
