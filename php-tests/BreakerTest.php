<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\StoreException;
use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** After some faults in a row a host asks Redis no more, but to see whether it is back. */
final class BreakerTest extends TestCase
{
    private RedisServer $server;

    protected function setUp(): void
    {
        $this->server = RedisServer::absent();
    }

    public function testFiveFaultsOpenItAndTheStatusTells(): void
    {
        $store = Store::redis($this->server->dsn());
        $limiter = new Limiter($store);
        $closed = ['open' => false, 'faults' => 0, 'opened' => 0, 'probeIn' => null];
        self::assertSame($closed, $store->status()['breaker']);
        foreach (range(1, 20) as $_) {
            self::assertSame(Source::Fallback, $limiter->attempt('k', '100/h')->source);
        }
        $status = $store->status();
        self::assertSame([5, 5], [$status['redis']['calls'], $status['redis']['faults']]);
        self::assertSame([true, 5, 1], array_values(array_slice($status['breaker'], 0, 3)));
        self::assertEqualsWithDelta(0.5, $status['breaker']['probeIn'], 0.5);
    }

    public function testPhpinfoTells(): void
    {
        $result = PhpProcess::with(['sluice.store' => $this->server->dsn()])->code(<<<'PHP'
            for ($call = 0; $call < 9; $call++) {
                (new Sluice\Limiter())->allow('k', '100/h');
            }
            phpinfo(INFO_MODULES);
            PHP);
        self::assertMatchesRegularExpression('/^Breaker of this host => open, next probe in [01]\.\d s$/m', $result->stdout);
        self::assertStringContainsString("\nFaults in a row, times opened => 5, 1\n", $result->stdout);
        self::assertStringContainsString("\nAnswered here by near state, by lease => 0, 0\n", $result->stdout);
    }

    public function testItClosesByItself(): void
    {
        $limiter = new Limiter($this->server->dsn());
        foreach (range(1, 6) as $_) {
            $limiter->allow('k', '100/h');
        }
        $this->server->launch();
        self::assertSame(Source::Fallback, $limiter->attempt('k', '100/h')->source);
        $started = hrtime(true);
        while ($limiter->attempt('k', '100/h')->source !== Source::Redis) {
            self::assertLessThan(20e9, hrtime(true) - $started, 'nobody looks whether Redis is back');
            usleep(10_000);
        }
        self::assertSame(Source::Redis, $limiter->attempt('k', '100/h')->source);
    }

    public function testUnderThrowItSaysWhyNobodyWasAsked(): void
    {
        ini_set('sluice.on_failure', 'throw');
        $limiter = new Limiter($this->server->dsn());
        $messages = [];
        foreach (range(1, 6) as $_) {
            try {
                $limiter->allow('k', '1/h');
            } catch (StoreException $exception) {
                $messages[] = $exception->getMessage();
            }
        }
        self::assertStringContainsString('cannot connect', $messages[4]);
        self::assertSame(
            "{$this->server->shownDsn()}: not asked, since it did not answer the last 5 calls of this host",
            $messages[5],
        );
    }

    /** A server that stands still: who comes first waits for the deadline, all others do not. */
    public function testAPoolFindsItOutTogether(): void
    {
        $this->server->launch();
        $pool = FpmPool::start(8, ['sluice.store' => $this->server->dsn('timeout=300ms')]);
        $script = $pool->script('take.php', <<<'PHP'
            $started = hrtime(true);
            $source = (new Sluice\Limiter())->attempt('k', '1000/h')->source;
            echo json_encode([(hrtime(true) - $started) / 1e9, $source]);
            PHP);
        // A first visit, so that scripts are compiled and connections open.
        $pool->getMany(24, 8, $script);
        $this->server->pause();
        $answers = array_map(fn ($response) => $response->json(), $pool->getMany(200, 8, $script));
        $this->server->resume();
        self::assertNotContains('redis', array_slice(array_column($answers, 1), 8));
        $waited = array_filter(array_column($answers, 0), fn (float $seconds) => $seconds > 0.25);
        // Five faults open it, while each of the others may be in a call; then
        // there is one a second at most.
        self::assertLessThan(20, count($waited));
        self::assertLessThan(2.0, max(array_column($answers, 0)));
    }
}
