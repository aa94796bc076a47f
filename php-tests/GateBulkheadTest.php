<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FastCgiRequest;
use Sluice\Tests\Support\GatedPool;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\Wait;

/** At most so many workers in a route at once, and none is missing afterwards. */
final class GateBulkheadTest extends TestCase
{
    private const MAX = 2;

    private const TOML = <<<'TOML'
        [limits]
        slots = "2 concurrent"
        [[gate.rule]]
        name = "bulkhead"
        path = "/slow"
        limit = ["1000/h", "slots"]
        TOML;

    /** Holds a slot, says so, and ends as it is told. `/free` says how many are free. */
    private const CODE = <<<'PHP'
        if (str_starts_with($_SERVER['REQUEST_URI'], '/free')) {
            echo json_encode((new Sluice\Limiter())->peek('', 'slots')->remaining);
            return;
        }
        $decision = Sluice\Gate::decision();
        file_put_contents($_GET['log'], getmypid());
        switch ($_GET['end']) {
            case 'exit':
                exit('held');
            case 'exception':
                throw new RuntimeException('uncaught');
            case 'error':
                nowhere();
            case 'memory':
                ini_set('memory_limit', '8M');
                str_repeat('x', 64 << 20);
            case 'time':
                set_time_limit(1);
                while (true) {
                }
            case 'abort':
                while (true) {
                    echo str_repeat('.', 8192);
                    flush();
                    usleep(1000);
                }
            case 'finish':
                fastcgi_finish_request();
                // No break: the client has its answer, and the work goes on.
            case 'stop':
                while (!is_file("{$_GET['log']}.stop")) {
                    usleep(1000);
                    clearstatcache();
                }
                exit('stopped');
            case 'release':
                $decision->permit->release();
                exit('released');
            default:
                while (true) {
                    usleep(1000);
                }
        }
        PHP;

    private GatedPool $gate;
    private TempDir $dir;

    private function start(bool $redis = false, int $workers = 5, array $directives = []): void
    {
        $this->dir = TempDir::make();
        $ini = ['log_errors' => '0'] + ($redis ? ['sluice.store' => RedisServer::start()->dsn()] : []);
        $this->gate = GatedPool::with(self::TOML, $workers, $ini, self::CODE, $directives);
    }

    private function hold(string $end, string $name): FastCgiRequest
    {
        $log = $this->dir->file($name);
        return $this->gate->send("/slow?end={$end}&log=" . rawurlencode($log));
    }

    private function free(): int
    {
        return $this->gate->get('/free')->json();
    }

    /** @return list<int> the workers' pids */
    private function untilHeld(string ...$names): array
    {
        // A file is there before what is written to it.
        $pid = fn (string $name) => (int) @file_get_contents($this->dir->file($name));
        return array_map(
            fn (string $name) => Wait::until("{$name} holds", fn () => $pid($name) ?: null),
            $names,
        );
    }

    /** @dataProvider ends */
    public function testAnEndOfTheRequestFreesItsSlot(bool $redis, string $end): void
    {
        $this->start($redis);
        foreach (range(1, 2 * self::MAX) as $round) {
            $this->hold($end, "log{$round}")->response();
            self::assertFileExists($this->dir->file("log{$round}"), 'it was refused');
            self::assertSame(self::MAX, $this->free());
        }
    }

    public static function ends(): iterable
    {
        foreach (['shared memory' => false, 'Redis' => true] as $store => $redis) {
            foreach (['exit', 'exception', 'error', 'memory', 'release'] as $end) {
                yield "{$end}, {$store}" => [$redis, $end];
            }
        }
    }

    /** @dataProvider stores */
    public function testAFullRouteRefusesAtOnceAndLeavesTheOthersAlone(bool $redis): void
    {
        $this->start($redis);
        $holding = [$this->hold('stop', 'a'), $this->hold('stop', 'b')];
        $this->untilHeld('a', 'b');
        self::assertSame(0, $this->free());
        $refused = $this->hold('exit', 'c')->response();
        self::assertSame([429, '1'], [$refused->status, $refused->headers['retry-after']]);
        self::assertStringContainsString('slots', $refused->headers['ratelimit-policy']);
        self::assertFileDoesNotExist($this->dir->file('c'));
        touch($this->dir->file('a.stop'));
        touch($this->dir->file('b.stop'));
        self::assertSame(['stopped', 'stopped'], array_map(fn ($held) => $held->response()->body, $holding));
        self::assertSame(self::MAX, $this->free());
        self::assertSame(200, $this->hold('exit', 'd')->response()->status);
    }

    public static function stores(): iterable
    {
        yield 'shared memory' => [false];
        yield 'Redis' => [true];
    }

    public function testATimeoutFreesItsSlot(): void
    {
        $this->start();
        $requests = [$this->hold('time', 'a'), $this->hold('time', 'b')];
        $this->untilHeld('a', 'b');
        self::assertSame(0, $this->free());
        array_map(fn ($request) => $request->response(), $requests);
        self::assertSame(self::MAX, $this->free());
    }

    public function testAWorkerThatTheMasterEndsFreesItsSlot(): void
    {
        $this->start(directives: ['request_terminate_timeout' => '1s']);
        $requests = [$this->hold('forever', 'a'), $this->hold('forever', 'b')];
        $this->untilHeld('a', 'b');
        self::assertSame(0, $this->free());
        Wait::until('the master ends them', fn () => $this->free() === self::MAX ?: null);
        self::assertSame(200, $this->hold('exit', 'c')->response()->status);
        unset($requests);
    }

    public function testAClientThatGoesAwayFreesItsSlot(): void
    {
        $this->start();
        $requests = [$this->hold('abort', 'a'), $this->hold('abort', 'b')];
        $this->untilHeld('a', 'b');
        self::assertSame(0, $this->free());
        unset($requests);
        Wait::until('all slots are back', fn () => $this->free() === self::MAX ?: null);
        self::assertSame(self::MAX, $this->free());
    }

    public function testAKilledWorkerFreesItsSlotAtOnce(): void
    {
        $this->start();
        $requests = [$this->hold('forever', 'a'), $this->hold('forever', 'b')];
        foreach ($this->untilHeld('a', 'b') as $pid) {
            posix_kill($pid, SIGKILL);
        }
        Wait::until('all slots are back', fn () => $this->free() === self::MAX ?: null);
        self::assertSame(200, $this->hold('exit', 'c')->response()->status);
        unset($requests);
    }

    public function testWorkThatGoesOnAfterTheAnswerStillHoldsItsSlot(): void
    {
        $this->start();
        $this->hold('finish', 'a')->response();
        self::assertSame(self::MAX - 1, $this->free());
        touch($this->dir->file('a.stop'));
        Wait::until('the slot is back', fn () => $this->free() === self::MAX ?: null);
        self::assertSame(self::MAX, $this->free());
    }
}
