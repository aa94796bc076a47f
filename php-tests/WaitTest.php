<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limiter;
use Sluice\Store;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;

/** A caller with time can sleep until it may; a signal ends the sleep. */
final class WaitTest extends TestCase
{
    /** @dataProvider limitsOnStores */
    public function testSleepsUntilItMay(callable $store, string $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        foreach (range(1, 3) as $_) {
            $decision = $limiter->wait($key, $limit, maxWait: 10.0);
            self::assertSame([true, 0.0, $key], [$decision->allowed, $decision->delay, $decision->key]);
        }
    }

    public static function limitsOnStores(): iterable
    {
        foreach (Stores::all() as $name => [$store]) {
            // A fake's clock stands still while we sleep, so only a booking ends.
            $windows = $name === 'a fake' ? [] : ['1/20ms', '1/20ms fixed'];
            foreach (['50/s burst 1', '50/s queue 3', ...$windows] as $limit) {
                yield "{$limit} on {$name}" => [$store, $limit];
            }
        }
    }

    /** @dataProvider hourly */
    public function testWhatWouldTakeTooLongIsRefusedAtOnce(string $limit): void
    {
        Store::fake();
        $limiter = new Limiter();
        $limiter->allow('k', $limit);
        $decision = $limiter->wait('k', $limit, maxWait: 60.0);
        self::assertFalse($decision->allowed);
        self::assertGreaterThan(60.0, $decision->retryAfter);
        self::assertSame(0, $decision->remaining);
    }

    public static function hourly(): iterable
    {
        yield 'token bucket' => ['1/h burst 1'];
        yield 'sliding window' => ['1/h'];
        yield 'fixed window' => ['1/h fixed'];
    }

    /** @dataProvider hourly */
    public function testWithoutAWaitItIsAnAttempt(string $limit): void
    {
        Store::fake();
        $limiter = new Limiter();
        self::assertTrue($limiter->wait('k', $limit)->allowed);
        self::assertFalse($limiter->wait('k', $limit)->allowed);
    }

    /** @dataProvider hourly */
    public function testASignalEndsItWithARefusalAndGivesTheBookingBack(string $limit): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            pcntl_async_signals(true);
            $caught = 0;
            pcntl_signal(SIGALRM, function () use (&$caught): void {
                $caught++;
            });
            $limiter = new Sluice\Limiter();
            $limiter->allow('k', $argv[1]);
            $before = $limiter->peek('k', $argv[1])->retryAfter;
            pcntl_alarm(1);
            $decision = $limiter->wait('k', $argv[1], maxWait: 7200.0);
            $after = $limiter->peek('k', $argv[1])->retryAfter;
            echo json_encode([$caught, $decision->allowed, $decision->delay, $decision->retryAfter > 0, $after < $before]);
            PHP, $limit);
        // A booking left behind would have doubled the wait.
        self::assertSame([1, false, 0, true, true], $seen->json());
    }
}
