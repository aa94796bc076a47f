<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Source;
use Sluice\StoreException;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\Wait;
use Sluice\TokenBucketLimiter;

/** Redis cannot be asked: a stated policy answers, and answers in time. */
final class FailurePolicyTest extends TestCase
{
    /** Far above the budget of 50 ms, and far below a server's patience. */
    private const IN_TIME = 2.0;

    private RedisServer $server;

    protected function setUp(): void
    {
        $this->server = RedisServer::absent();
    }

    public function testLocalCountsByItself(): void
    {
        $limiter = new FixedWindowLimiter($this->server->dsn());
        $decisions = array_map(fn () => $limiter->attempt('k', 2, 3600), range(1, 3));
        self::assertSame([true, true, false], array_column($decisions, 'allowed'));
        self::assertSame([1, 0, 0], array_column($decisions, 'remaining'));
        self::assertSame(array_fill(0, 3, Source::Fallback), array_column($decisions, 'source'));
    }

    public function testLocalIsThisHostAndNotThisProcess(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            $limiter = new Sluice\FixedWindowLimiter($argv[1]);
            if (pcntl_fork() === 0) {
                $limiter->allow('k', 2, 3600);
                exit;
            }
            pcntl_wait($status);
            echo json_encode([$limiter->allow('k', 2, 3600), $limiter->allow('k', 2, 3600)]);
            PHP, $this->server->dsn());
        self::assertSame([true, false], $seen->json());
    }

    public function testLocalGivesOutOnlyItsShare(): void
    {
        ini_set('sluice.local_share', '0.25');
        $limiter = new TokenBucketLimiter($this->server->dsn());
        $decision = $limiter->attempt('k', 10, 4);
        // A quarter of ten, rounded up, and a quarter of the rate.
        self::assertSame([3, 2, 1.0], [$decision->limit, $decision->remaining, $decision->resetAfter]);
    }

    public function testLocalDoesNotCountTogetherWithSharedMemory(): void
    {
        $key = self::freshKey();
        (new FixedWindowLimiter($this->server->dsn()))->allow($key, 1, 3600);
        self::assertTrue((new FixedWindowLimiter())->allow($key, 1, 3600));
    }

    public function testAllowLetsEverythingThrough(): void
    {
        ini_set('sluice.on_failure', 'allow');
        $limiter = new TokenBucketLimiter($this->server->dsn());
        foreach (range(1, 3) as $_) {
            $decision = $limiter->attempt('k', 1, 1);
            self::assertTrue($decision->allowed);
            self::assertSame(Source::FailedOpen, $decision->source);
            self::assertSame([1, 1, 0.0], [$decision->limit, $decision->remaining, $decision->retryAfter]);
        }
    }

    public function testDenyRefusesEverythingForNow(): void
    {
        ini_set('sluice.on_failure', 'deny');
        $decision = (new TokenBucketLimiter($this->server->dsn()))->attempt('k', 10, 1);
        self::assertFalse($decision->allowed);
        self::assertSame(Source::FailedClosed, $decision->source);
        self::assertSame([10, 0, 1.0], [$decision->limit, $decision->remaining, $decision->retryAfter]);
        self::assertSame('1', $decision->headers()['Retry-After']);
    }

    /** @dataProvider calls */
    public function testThrowThrows(callable $call): void
    {
        ini_set('sluice.on_failure', 'throw');
        try {
            $call($this->server->dsn());
        } catch (\Sluice\Exception $exception) {
            self::assertInstanceOf(StoreException::class, $exception);
            self::assertInstanceOf(\RuntimeException::class, $exception);
            self::assertStringContainsString("{$this->server->shownDsn()}: cannot connect: ", $exception->getMessage());
            self::assertSame(__FILE__, $exception->getFile());
            return;
        }
        self::fail('there is no Redis');
    }

    public static function calls(): iterable
    {
        yield 'allow()' => [fn (string $dsn) => (new TokenBucketLimiter($dsn))->allow('k', 1, 1)];
        yield 'attempt()' => [fn (string $dsn) => (new TokenBucketLimiter($dsn))->attempt('k', 1, 1)];
        yield 'peek()' => [fn (string $dsn) => (new FixedWindowLimiter($dsn))->peek('k', 1, 1)];
        yield 'reset()' => [fn (string $dsn) => (new FixedWindowLimiter($dsn))->reset('k')];
        yield 'the function' => [function (string $dsn): void {
            ini_set('sluice.store', $dsn);
            fixed_window_limit('k', 1);
        }];
    }

    /** @dataProvider policies */
    public function testResetIsNoFaultUnlessThePolicyIsToThrow(string $policy): void
    {
        ini_set('sluice.on_failure', $policy);
        $limiter = new FixedWindowLimiter($this->server->dsn());
        $limiter->allow('k', 1, 3600);
        $limiter->reset('k', 3600);
        self::assertSame($policy !== 'deny', $limiter->allow('k', 1, 3600));
    }

    public static function policies(): iterable
    {
        yield 'local' => ['local'];
        yield 'allow' => ['allow'];
        yield 'deny' => ['deny'];
    }

    public function testRedisDecidesAgainAsSoonAsItIsBack(): void
    {
        $limiter = new TokenBucketLimiter($this->server->dsn());
        self::assertSame(Source::Fallback, $limiter->attempt('k', 5, 1)->source);
        $this->server->launch();
        self::assertSame(Source::Redis, $limiter->attempt('k', 5, 1)->source);
        $this->server->stop();
        self::assertSame(Source::Fallback, $limiter->attempt('k', 5, 1)->source);
        $this->server->launch();
        self::assertSame(Source::Redis, $limiter->attempt('k', 5, 1)->source);
    }

    public function testAServerThatStandsStillCostsNoMoreThanTheBudget(): void
    {
        $this->server->launch();
        $connected = new FixedWindowLimiter($this->server->dsn('timeout=50ms'));
        $connected->allow('k', 5, 60);
        $this->server->pause();
        $unconnected = new FixedWindowLimiter($this->server->dsn('timeout=50ms&db=1'));
        foreach ([$connected, $unconnected] as $limiter) {
            $started = hrtime(true);
            self::assertSame(Source::Fallback, $limiter->attempt('k', 5, 60)->source);
            self::assertLessThan(self::IN_TIME, (hrtime(true) - $started) / 1e9);
        }
    }

    /** `sluice.connect_timeout` is empty, so that connecting may take all of it. */
    public function testTheTimeThatADsnGivesIsThereForConnectingToo(): void
    {
        $this->server->launch();
        $this->server->pause();
        $answer = TempDir::make()->file('answer');
        $code = sprintf(
            'file_put_contents(%s, (new Sluice\\FixedWindowLimiter(%s))->attempt("k", 5, 60)->source->value);',
            var_export($answer, true),
            var_export($this->server->dsn(), true),
        );
        $asking = PhpProcess::with(['sluice.timeout' => '1ms'])->start('-r', $code);
        usleep(300_000);
        $this->server->resume();
        self::assertSame(0, $asking->wait(Wait::PATIENCE));
        self::assertSame('redis', file_get_contents($answer));
    }

    public function testALateReplyIsNotTakenForThatOfTheNextCall(): void
    {
        $this->server->launch();
        $limiter = new FixedWindowLimiter($this->server->dsn('timeout=500ms'));
        self::assertSame(Source::Redis, $limiter->attempt('other', 100, 60, requested: 50)->source);
        $this->server->pause();
        self::assertSame(Source::Fallback, $limiter->attempt('other', 100, 60)->source);
        $this->server->resume();
        $decision = $limiter->attempt('k', 5, 60);
        self::assertSame([Source::Redis, 5, 4], [$decision->source, $decision->limit, $decision->remaining]);
    }

    public function testAHostThatHasNoAddressIsAFaultLikeAnyOther(): void
    {
        $started = hrtime(true);
        $decision = (new TokenBucketLimiter('redis://no-such-host.invalid'))->attempt('k', 5, 1);
        self::assertSame(Source::Fallback, $decision->source);
        self::assertLessThan(self::IN_TIME, (hrtime(true) - $started) / 1e9);
    }
}
