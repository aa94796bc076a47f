<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\DeniedException;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;

/** Something is done while a permit is held, and no longer. */
final class RunTest extends TestCase
{
    /** @dataProvider stores */
    public function testReturnsWhatWasReturnedAndReleases(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        foreach (['text', null, ['a' => 1]] as $value) {
            self::assertSame($value, $limiter->run($key, '1 concurrent', function () use ($limiter, $key, $value) {
                self::assertSame(0, $limiter->peek($key, '1 concurrent')->remaining);
                return $value;
            }));
            self::assertSame(1, $limiter->peek($key, '1 concurrent')->remaining);
        }
    }

    /** @dataProvider stores */
    public function testReleasesOnAnExceptionAndLetsItThrough(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $thrown = new \DomainException('mine');
        try {
            $limiter->run($key, '1 concurrent', fn () => throw $thrown);
            self::fail('not thrown');
        } catch (\DomainException $caught) {
            self::assertSame($thrown, $caught);
        }
        self::assertSame(1, $limiter->peek($key, '1 concurrent')->remaining);
    }

    /** @dataProvider stores */
    public function testWithoutAPermitItRunsNothingAndThrows(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->acquire($key, '1 concurrent');
        try {
            $limiter->run($key, '1 concurrent', fn () => self::fail('it ran'), maxWait: 0.03);
            self::fail('not refused');
        } catch (\Sluice\Exception $exception) {
            self::assertInstanceOf(DeniedException::class, $exception);
            self::assertInstanceOf(\RuntimeException::class, $exception);
            self::assertSame("no permit of 1 is free for key \"{$key}\"", $exception->getMessage());
        }
    }

    public static function stores(): iterable
    {
        return Stores::all();
    }

    public function testWaitsForOneToComeFree(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            $limiter = new Sluice\Limiter();
            [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
            if (pcntl_fork() === 0) {
                $limiter->run('k', '1 concurrent', function () use ($its): void {
                    fwrite($its, '.');
                    usleep(200_000);
                });
                exit;
            }
            fread($mine, 1);
            $held = $limiter->peek('k', '1 concurrent')->remaining;
            echo json_encode([$held, $limiter->run('k', '1 concurrent', fn () => 'ran', maxWait: 30.0)]);
            PHP);
        self::assertSame([0, 'ran'], $seen->json());
    }

    public function testASignalEndsTheWait(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, fn () => null);
            $limiter = new Sluice\Limiter();
            $limiter->acquire('k', '1 concurrent');
            pcntl_alarm(1);
            try {
                $limiter->run('k', '1 concurrent', fn () => null, maxWait: 100.0);
            } catch (Sluice\DeniedException) {
                echo '"denied"';
            }
            PHP);
        self::assertSame('denied', $seen->json());
    }

    public function testASignalThatCutsNoSleepShortEndsTheWaitAsWell(): void
    {
        $server = RedisServer::start();
        $seen = PhpProcess::with()->loading('igbinary', 'redis')->code(<<<PHP
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, fn () => null);
            \$limiter = new Sluice\\Limiter('{$server->dsn()}');
            \$limiter->acquire('k', '1 concurrent');
            // It comes while Redis is being asked.
            \$redis = new Redis();
            \$redis->connect('{$server->socket()}');
            \$redis->rawCommand('CLIENT', 'PAUSE', '1500', 'ALL');
            pcntl_alarm(1);
            try {
                \$limiter->run('k', '1 concurrent', fn () => null, maxWait: 100.0);
            } catch (Sluice\\DeniedException) {
                echo '"denied"';
            }
            PHP);
        self::assertSame('denied', $seen->json());
    }

    public function testOneInsideAnotherIsTwoPermits(): void
    {
        $limiter = new Limiter(\Sluice\Store::memory());
        $left = fn () => $limiter->peek('k', '2 concurrent')->remaining;
        $seen = $limiter->run('k', '2 concurrent', fn () => [
            $left(),
            $limiter->run('k', '2 concurrent', $left),
            $left(),
        ]);
        self::assertSame([1, 0, 1, 2], [...$seen, $left()]);
    }

    public function testAnExitInsideReleasesAndEndsTheRequest(): void
    {
        $result = PhpProcess::with()->code(<<<'PHP'
            $limiter = new Sluice\Limiter();
            register_shutdown_function(function () use ($limiter): void {
                echo $limiter->peek('k', '1 concurrent')->remaining;
            });
            $limiter->run('k', '1 concurrent', fn () => exit('bye '));
            echo 'not reached';
            PHP);
        self::assertStringStartsWith('bye ', $result->stdout);
        self::assertStringNotContainsString('not reached', $result->stdout);
        self::assertSame([0, ''], [$result->exitCode, $result->stderr]);
    }

    public function testReleasesWhenItIsNotCallable(): void
    {
        $limiter = new Limiter(\Sluice\Store::memory());
        try {
            $limiter->run('k', '1 concurrent', 'no_such_function');
            self::fail('not refused');
        } catch (\TypeError $error) {
            self::assertStringContainsString('Argument #3 ($do) must be ', $error->getMessage());
        }
        self::assertSame(1, $limiter->peek('k', '1 concurrent')->remaining);
    }

    public function testWithoutALimitItJustRuns(): void
    {
        $limiter = new Limiter(\Sluice\Store::memory());
        self::assertSame(5, $limiter->run('k', Limit::none(), fn () => 5));
        $this->expectException(DeniedException::class);
        $limiter->run('k', Limit::deny(), fn () => 5);
    }
}
