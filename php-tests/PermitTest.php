<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Store;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;

/** A permit is held until it is released, by whoever took it. */
final class PermitTest extends TestCase
{
    /** @dataProvider stores */
    public function testThereAreNoMoreThanTheLimitHas(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $permits = array_map(fn () => $limiter->acquire($key, '3 concurrent'), range(1, 4));
        self::assertNull(array_pop($permits));
        self::assertSame([$key, $key, $key], array_column($permits, 'key'));
        $permits[1]->release();
        self::assertNotNull($limiter->acquire($key, '3 concurrent'));
        self::assertNull($limiter->acquire($key, '3 concurrent'));
    }

    /** @dataProvider stores */
    public function testReleasedTwiceItFreesOneSlot(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $permit = $limiter->acquire($key, '2 concurrent');
        $limiter->acquire($key, '2 concurrent');
        $permit->release();
        $permit->release();
        self::assertSame(1, $limiter->peek($key, '2 concurrent')->remaining);
        $limiter->acquire($key, '2 concurrent');
        $permit->release();
        self::assertNull($limiter->acquire($key, '2 concurrent'));
    }

    /** @dataProvider stores */
    public function testCanBeRenewedWhileItIsHeld(callable $store): void
    {
        $permit = (new Limiter($store()))->acquire(self::freshKey(), '1 concurrent');
        self::assertTrue($permit->renew());
        $permit->release();
        self::assertFalse($permit->renew());
    }

    /**
     * The `if` of the manual: nobody keeps the object.
     *
     * @dataProvider stores
     */
    public function testATemporaryHoldsItsSlot(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        if (!$limiter->acquire($key, '1 concurrent')) {
            self::fail('none was held');
        }
        gc_collect_cycles();
        self::assertNull($limiter->acquire($key, '1 concurrent'));
        self::assertFalse($limiter->allow($key, '1 concurrent'));
    }

    /** @dataProvider stores */
    public function testAllowAndAttemptHoldOneToo(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        self::assertTrue($limiter->allow($key, '2 concurrent'));
        $decision = $limiter->attempt($key, '2 concurrent');
        self::assertSame([true, 0, $key], [$decision->allowed, $decision->remaining, $decision->permit->key]);
        $refusal = $limiter->attempt($key, '2 concurrent');
        self::assertSame([false, 1.0, null], [$refusal->allowed, $refusal->retryAfter, $refusal->permit]);
        $decision->permit->release();
        self::assertTrue($limiter->allow($key, '2 concurrent'));
    }

    /** @dataProvider stores */
    public function testALowerLimitAppliesToWhatIsHeld(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $permits = array_map(fn () => $limiter->acquire($key, '3 concurrent'), range(1, 3));
        $permits[0]->release();
        self::assertNull($limiter->acquire($key, '2 concurrent'));
        $permits[1]->release();
        self::assertNotNull($limiter->acquire($key, '2 concurrent'));
    }

    public static function stores(): iterable
    {
        return Stores::all();
    }

    /** @dataProvider realStores */
    public function testAForkedChildReleasesNothingOfItsParents(bool $redis): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            $limiter = new Sluice\Limiter($argv[1] ?: null);
            $permit = $limiter->acquire('k', '2 concurrent');
            if (pcntl_fork() === 0) {
                $permit->release();
                $limiter->refund($limiter->peek('k', '2 concurrent'));
                $own = $limiter->acquire('k', '2 concurrent');
                exit($own !== null && !$permit->renew() ? 0 : 1);
            }
            pcntl_wait($status);
            $after = $limiter->peek('k', '2 concurrent')->remaining;
            echo json_encode([pcntl_wexitstatus($status), $after, $permit->renew()]);
            PHP, $redis ? RedisServer::start()->dsn() : '');
        // The child's own one is gone with it.
        self::assertSame([0, 1, true], $seen->json());
    }

    public static function realStores(): iterable
    {
        yield 'shared memory' => [false];
        yield 'Redis' => [true];
    }

    /** @dataProvider realStores */
    public function testADecisionRefundedInAChildFreesNothingOfItsParents(bool $redis): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            $limiter = new Sluice\Limiter($argv[1] ?: null);
            $decision = $limiter->attempt('k', '1 concurrent');
            if (pcntl_fork() === 0) {
                $limiter->refund($decision);
                exit;
            }
            pcntl_wait($status);
            echo json_encode($limiter->peek('k', '1 concurrent')->remaining);
            PHP, $redis ? RedisServer::start()->dsn() : '');
        self::assertSame(0, $seen->json());
    }

    public function testOnRedisItLapsesAfterItsLeaseUnlessItIsRenewed(): void
    {
        $store = Store::fake();
        $limiter = new Limiter();
        $limit = Limit::concurrency(1, lease: 10);
        $permit = $limiter->acquire('k', $limit);
        $store->advance(9);
        self::assertTrue($permit->renew());
        $store->advance(9);
        self::assertNull($limiter->acquire('k', $limit));
        $store->advance(1);
        self::assertNotNull($limiter->acquire('k', $limit));
        self::assertFalse($permit->renew());
        $permit->release();
        self::assertNull($limiter->acquire('k', $limit));
    }

    public function testWithoutALimitAnyoneGetsOneAndUnderDenyNobody(): void
    {
        $limiter = new Limiter(Store::memory());
        $permit = $limiter->acquire('k', Limit::none());
        self::assertSame(['k', true], [$permit->key, $permit->renew()]);
        $permit->release();
        self::assertFalse($permit->renew());
        self::assertNull($limiter->acquire('k', Limit::deny()));
        self::assertNull($limiter->acquire('k', '0 concurrent'));
    }

    public function testThousandsOfThemOneAfterTheOtherFitIntoOneSlot(): void
    {
        $limiter = new Limiter();
        foreach (range(1, 10_000) as $_) {
            $limiter->refund($limiter->attempt('k', '1 concurrent'));
            $limiter->acquire('k', '1 concurrent')->release();
        }
        self::assertSame(1, $limiter->peek('k', '1 concurrent')->remaining);
    }

    public function testOutlivesTheLimiterAndTheStore(): void
    {
        $permit = (new Limiter(Store::memory()))->acquire('k', '1 concurrent');
        gc_collect_cycles();
        self::assertTrue($permit->renew());
        $permit->release();
        self::assertSame('k', $permit->key);
    }
}
