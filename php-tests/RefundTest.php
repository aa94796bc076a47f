<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Store;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;

/** What a decision took can be given back: once, and never more. */
final class RefundTest extends TestCase
{
    /** @dataProvider limitsOnStores */
    public function testGivesBackWhatWasTaken(callable $store, string $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->attempt($key, $limit, 2);
        $decision = $limiter->attempt($key, $limit, 5);
        $limiter->refund($decision);
        self::assertSame(8, $limiter->peek($key, $limit)->remaining);
    }

    /** @dataProvider limitsOnStores */
    public function testASecondTimeThereIsNothingLeftToGiveBack(callable $store, string $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->attempt($key, $limit, 6);
        $decision = $limiter->attempt($key, $limit, 3);
        $limiter->refund($decision);
        $limiter->refund($decision);
        $limiter->refund($decision, 3);
        self::assertSame(4, $limiter->peek($key, $limit)->remaining);
    }

    /** @dataProvider limitsOnStores */
    public function testAPartCanBeGivenBackAndThenTheRestButNeverMore(callable $store, string $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->attempt($key, $limit, 3);
        $decision = $limiter->attempt($key, $limit, 5);
        $seen = [];
        foreach ([0, 2, 1_000_000, 1] as $cost) {
            $limiter->refund($decision, $cost);
            $seen[] = $limiter->peek($key, $limit)->remaining;
        }
        self::assertSame([2, 4, 7, 7], $seen, json_encode($decision));
    }

    /** @dataProvider limitsOnStores */
    public function testARefusalAndAPeekTookNothing(callable $store, string $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->attempt($key, $limit, 8);
        $limiter->refund($limiter->attempt($key, $limit, 5));
        $limiter->refund($limiter->peek($key, $limit, 1));
        self::assertSame(2, $limiter->peek($key, $limit)->remaining);
    }

    /**
     * A charge takes in any case, so there is always something to give back.
     *
     * @dataProvider limitsOnStores
     */
    public function testAChargeBeyondTheLimitIsGivenBackToo(callable $store, string $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->attempt($key, $limit, 4);
        $charged = $limiter->charge($key, $limit, 20);
        self::assertFalse($charged->allowed);
        $limiter->refund($charged);
        self::assertSame(6, $limiter->peek($key, $limit)->remaining);
    }

    public static function limitsOnStores(): iterable
    {
        foreach (Stores::all() as $name => [$store]) {
            foreach (['10/d burst 10', '10/d queue 10', '10/d fixed', '10/d', '10 per month UTC'] as $limit) {
                yield "{$limit} on {$name}" => [$store, $limit];
            }
        }
    }

    /** @dataProvider stores */
    public function testOfAPermitItIsARelease(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $decision = $limiter->attempt($key, '1 concurrent');
        $limiter->refund($decision);
        $other = $limiter->acquire($key, '1 concurrent');
        self::assertNotNull($other);
        // The first is no longer anybody's to give back.
        $limiter->refund($decision);
        $decision->permit->release();
        self::assertFalse($decision->permit->renew());
        self::assertNull($limiter->acquire($key, '1 concurrent'));
        self::assertTrue($other->renew());
    }

    /** @dataProvider stores */
    public function testAReleasedPermitCannotBeRefundedOverAnother(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $decision = $limiter->attempt($key, '1 concurrent');
        $decision->permit->release();
        self::assertNotNull($limiter->acquire($key, '1 concurrent'));
        $limiter->refund($decision);
        self::assertNull($limiter->acquire($key, '1 concurrent'));
    }

    /** @dataProvider stores */
    public function testOfSeveralLimitsEachPartGetsItsOwnBack(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limits = [
            Limit::slidingWindow(10, 3600)->by($key, 2),
            Limit::tokenBucket(10, 1, 86_400)->by($key, 3),
            Limit::concurrency(1)->by($key),
        ];
        $decision = $limiter->attemptAll(...$limits);
        $limiter->refund($decision);
        $limiter->refund($decision);
        $left = array_map(fn (Limit $limit) => $limiter->peek($key, $limit)->remaining, $limits);
        self::assertSame([10, 10, 1], $left);
    }

    /** @dataProvider stores */
    public function testARefusalOfSeveralTookNothing(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->attempt($key, '10/h', 4);
        $decision = $limiter->attemptAll(Limit::slidingWindow(10, 3600)->by($key), Limit::deny()->by($key));
        self::assertFalse($decision->allowed);
        $limiter->refund($decision);
        $limiter->refund($decision->parts[0]);
        self::assertSame(6, $limiter->peek($key, '10/h')->remaining);
    }

    public static function stores(): iterable
    {
        return Stores::all();
    }

    /** @dataProvider stores */
    public function testWhatWasLetThroughUncountedGivesNothingBack(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->attempt($key, '5/h', 3);
        ini_set('sluice.mode', 'off');
        $decisions = [$limiter->attempt($key, '5/h', 2), $limiter->attemptAll(Limit::parse('5/h')->by($key, 2))];
        ini_set('sluice.mode', 'enforce');
        array_map($limiter->refund(...), $decisions);
        self::assertSame(2, $limiter->peek($key, '5/h')->remaining);
    }

    /** @dataProvider stores */
    public function testAChargeThatWasObservedIsGivenBackToo(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        ini_set('sluice.mode', 'observe');
        $charged = $limiter->charge($key, '5/h', 9);
        self::assertSame([true, true], [$charged->allowed, $charged->wouldDeny]);
        $limiter->refund($charged);
        self::assertSame(5, $limiter->peek($key, '5/h')->remaining);
    }

    public function testAWindowThatIsOverGetsNothingBack(): void
    {
        $store = Store::fake();
        $limiter = new Limiter();
        $decision = $limiter->attempt('k', '10/m fixed', 5);
        $store->advance(60);
        $limiter->attempt('k', '10/m fixed', 7);
        $limiter->refund($decision);
        self::assertSame(3, $limiter->peek('k', '10/m fixed')->remaining);
    }

    public function testANegativeCostIsAValueError(): void
    {
        $limiter = new Limiter(Store::memory());
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('Sluice\Limiter::refund(): Argument #2 ($cost) must be 0 or more tokens, -1 given');
        $limiter->refund($limiter->attempt('k', '1/m'), -1);
    }
}
