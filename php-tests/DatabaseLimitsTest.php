<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;
use Sluice\Store;
use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;

/** Limits whose numbers come from a database, and change from one call to the next. */
final class DatabaseLimitsTest extends TestCase
{
    /** @dataProvider kindsOnStores */
    public function testAChangedNumberAppliesToWhatWasCounted(callable $store, callable $limitOf): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        foreach (range(1, 4) as $_) {
            self::assertTrue($limiter->allow($key, $limitOf(4)));
        }
        self::assertFalse($limiter->allow($key, $limitOf(4)));
        // Bought more, then less, then blocked, then as it was.
        self::assertSame(6, $limiter->peek($key, $limitOf(10))->remaining);
        self::assertFalse($limiter->allow($key, $limitOf(2)));
        self::assertFalse($limiter->allow($key, $limitOf(0)));
        self::assertTrue($limiter->allow($key, $limitOf(5)));
        self::assertFalse($limiter->allow($key, $limitOf(5)));
    }

    public static function kindsOnStores(): iterable
    {
        $kinds = [
            'token bucket' => fn (int $size) => Limit::tokenBucket($size, 1, 86_400),
            'leaky bucket' => fn (int $size) => Limit::leakyBucket($size, 1, 86_400),
            'fixed window' => fn (int $size) => Limit::fixedWindow($size, 86_400),
            'sliding window' => fn (int $size) => Limit::slidingWindow($size, 86_400),
            'quota' => fn (int $size) => Limit::quota($size, Period::Month, 'UTC'),
            'concurrency' => fn (int $size) => Limit::concurrency($size),
        ];
        foreach (Stores::all() as $name => [$store]) {
            foreach ($kinds as $kind => $limitOf) {
                yield "{$kind} on {$name}" => [$store, $limitOf];
            }
        }
    }

    /** @dataProvider stores */
    public function testNoneLetsThroughCountsNothingAndSaysNothing(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $decision = $limiter->attempt($key, Limit::none(), 1_000_000_000);
        self::assertSame(
            [true, PHP_INT_MAX, PHP_INT_MAX, 0.0],
            [$decision->allowed, $decision->limit, $decision->remaining, $decision->retryAfter],
        );
        self::assertSame([], $decision->headers());
        $limiter->refund($decision);
        $limiter->reset($key, Limit::none());
        self::assertTrue($limiter->charge($key, Limit::none(), 5)->allowed);
        self::assertTrue($limiter->wait($key, Limit::none())->allowed);
    }

    /** @dataProvider stores */
    public function testDenyRefusesForEverAndTakesNothing(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $decision = $limiter->attempt($key, Limit::deny());
        self::assertSame([false, 0, 0, null], [
            $decision->allowed, $decision->limit, $decision->remaining, $decision->retryAfter,
        ]);
        self::assertArrayNotHasKey('Retry-After', $decision->headers());
        self::assertFalse($limiter->wait($key, Limit::deny(), maxWait: 10.0)->allowed);
        self::assertFalse($limiter->attemptAll(Limit::none()->by($key), Limit::deny()->by($key))->allowed);
    }

    public static function stores(): iterable
    {
        return Stores::all();
    }

    /** @dataProvider realStores */
    public function testARequestCanHaveAnotherLimitThanTheOneBefore(bool $redis): void
    {
        $pool = FpmPool::start(2, $redis ? ['sluice.store' => RedisServer::start()->dsn()] : []);
        $script = $pool->script('ask.php', <<<'PHP'
            $limit = match ($_GET['limit']) {
                'none' => Sluice\Limit::none(),
                'deny' => Sluice\Limit::deny(),
                default => Sluice\Limit::slidingWindow((int) $_GET['limit'], 3600),
            };
            echo json_encode((new Sluice\Limiter())->allow('k', $limit));
            PHP);
        $allowed = array_map(
            fn (string $limit) => $pool->get($script, ['limit' => $limit])->json(),
            ['1', '1', 'none', '2', '2', 'deny', '0', '3', '1'],
        );
        self::assertSame([true, false, true, true, false, false, false, true, false], $allowed);
    }

    public static function realStores(): iterable
    {
        yield 'shared memory' => [false];
        yield 'Redis' => [true];
    }

    public function testANumberOutOfRangeIsAnErrorAndNoLimit(): void
    {
        $this->expectException(\ValueError::class);
        (new Limiter(Store::memory()))->allow('k', Limit::slidingWindow(-1, 60));
    }
}
