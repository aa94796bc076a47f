<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\Wait;

/** However a worker of php-fpm ends its request, or is ended, its permit comes back. */
final class PermitFireTest extends TestCase
{
    private const MAX = 2;

    private FpmPool $pool;
    private TempDir $dir;
    private string $store;

    /** @dataProvider ends */
    public function testAnEndOfTheRequestGivesItBack(bool $redis, string $end): void
    {
        $this->start($redis);
        foreach (range(1, 2 * self::MAX) as $round) {
            $log = $this->dir->file("log{$round}");
            $this->hold($end, $log)->response();
            self::assertFileExists($log, 'it was refused');
            self::assertSame(self::MAX, $this->free());
        }
    }

    public static function ends(): iterable
    {
        foreach (['shared memory' => false, 'Redis' => true] as $store => $redis) {
            foreach (['exit', 'exception', 'error', 'memory'] as $end) {
                yield "{$end}, {$store}" => [$redis, $end];
            }
        }
    }

    /** @dataProvider stores */
    public function testATimeoutGivesItBack(bool $redis): void
    {
        $this->start($redis);
        $requests = array_map(fn (int $n) => $this->hold('time', $this->dir->file("log{$n}")), range(1, self::MAX));
        $this->untilAllHold();
        self::assertSame('refused', $this->hold('exit', $this->dir->file('more'))->response()->json());
        foreach ($requests as $request) {
            $request->response();
        }
        self::assertSame(self::MAX, $this->free());
    }

    /** @dataProvider stores */
    public function testAClientThatGoesAwayGivesItBack(bool $redis): void
    {
        $this->start($redis);
        $requests = array_map(fn (int $n) => $this->hold('abort', $this->dir->file("log{$n}")), range(1, self::MAX));
        $this->untilAllHold();
        self::assertSame(0, $this->free());
        // Closes the connections.
        unset($requests);
        Wait::until('all permits are back', fn () => $this->free() === self::MAX ?: null);
        self::assertSame(self::MAX, $this->free());
    }

    /** @dataProvider stores */
    public function testAResponseThatIsStreamedStillHoldsIt(bool $redis): void
    {
        $this->start($redis);
        $request = $this->hold('stream', $this->dir->file('log1'));
        Wait::until('it streams', fn () => is_file($this->dir->file('log1')));
        foreach (range(1, 5) as $_) {
            self::assertSame(self::MAX - 1, $this->free());
        }
        touch($this->dir->file('log1.stop'));
        $request->response();
        self::assertSame(self::MAX, $this->free());
    }

    /** @dataProvider stores */
    public function testAKilledWorkerGivesItBackAtOnceInSharedMemoryAndAfterItsLeaseOnRedis(bool $redis): void
    {
        $this->start($redis);
        foreach (range(1, self::MAX) as $n) {
            $this->hold('killed', $this->dir->file("log{$n}"));
        }
        $this->untilAllHold();
        self::assertSame(0, $this->free());
        foreach (range(1, self::MAX) as $n) {
            posix_kill((int) file_get_contents($this->dir->file("log{$n}")), SIGKILL);
        }
        if (!$redis) {
            // The kernel needs a moment to end them; nobody needs a lease.
            Wait::until('they are dead', fn () => $this->allDead());
            self::assertSame(self::MAX, $this->free());
        }
        Wait::until('all permits are back', fn () => $this->free() === self::MAX ?: null);
        $this->hold('exit', $log = $this->dir->file('again'))->response();
        self::assertFileExists($log);
    }

    /** @dataProvider stores */
    public function testEightWorkersAtOnceNeverHoldMoreThanThereAre(bool $redis): void
    {
        $this->start($redis, 8);
        $query = ['store' => $this->store, 'max' => 3, 'seconds' => '1.5', 'dir' => $this->dir->path];
        $seen = array_map(
            fn ($response) => $response->json(),
            $this->pool->getMany(8, 8, 'hold-and-count.php', $query),
        );
        self::assertCount(8, array_unique(array_column($seen, 'pid')));
        self::assertGreaterThan(100, array_sum(array_column($seen, 'held')));
        self::assertSame(0, array_sum(array_column($seen, 'tooMany')));
        $left = $this->pool->get('hold.php', $this->query('look', '', ['key' => 'hammered', 'max' => 3]))->json();
        self::assertSame(3, $left);
    }

    public static function stores(): iterable
    {
        yield 'shared memory' => [false];
        yield 'Redis' => [true];
    }

    private function start(bool $redis, int $workers = 5): void
    {
        $this->dir = TempDir::make();
        $this->store = $redis ? RedisServer::start()->dsn() : '';
        $this->pool = FpmPool::start($workers, ['display_errors' => '0', 'log_errors' => '0']);
    }

    private function hold(string $end, string $log): \Sluice\Tests\Support\FastCgiRequest
    {
        return $this->pool->send('hold.php', $this->query($end, $log));
    }

    /** How many permits nobody holds. */
    private function free(): int
    {
        return $this->pool->get('hold.php', $this->query('look', ''))->json();
    }

    private function query(string $end, string $log, array $more = []): array
    {
        // Long, but where a worker is killed on Redis, that is what ends it.
        $lease = $end === 'killed' ? '1' : '60';
        return $more + [
            'store' => $this->store, 'key' => 'held', 'max' => self::MAX, 'lease' => $lease, 'end' => $end, 'log' => $log,
        ];
    }

    private function untilAllHold(): void
    {
        Wait::until('all hold', function (): bool {
            clearstatcache();
            $logs = array_map(fn (int $n) => $this->dir->file("log{$n}"), range(1, self::MAX));
            return array_filter($logs, fn (string $log) => !is_file($log) || filesize($log) === 0) === [];
        });
    }

    private function allDead(): bool
    {
        $pids = array_map(fn (int $n) => (int) file_get_contents($this->dir->file("log{$n}")), range(1, self::MAX));
        return array_filter($pids, fn (int $pid) => posix_kill($pid, 0)) === [];
    }
}
