<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Store;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;

/** Tokens that will be there soon can be booked, and each booking knows its time. */
final class ReserveTest extends TestCase
{
    /** @dataProvider buckets */
    public function testBookingsFollowOneAnotherAtTheRate(Limit $limit): void
    {
        Store::fake();
        $limiter = new Limiter();
        $delays = array_map(fn () => $limiter->reserve('k', $limit, maxWait: 5.0)->delay, range(1, 10));
        self::assertSame([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], $delays);
    }

    public static function buckets(): iterable
    {
        yield 'token bucket' => [Limit::tokenBucket(1, 10)];
        yield 'leaky bucket' => [Limit::leakyBucket(50, 10)];
    }

    public function testABurstIsThereAtOnce(): void
    {
        Store::fake();
        $limiter = new Limiter();
        $delays = array_map(fn () => $limiter->reserve('k', '10/s burst 3', maxWait: 5.0)->delay, range(1, 5));
        self::assertSame([0.0, 0.0, 0.0, 0.1, 0.2], $delays);
    }

    /** @dataProvider buckets */
    public function testWhatWouldTakeTooLongIsRefusedAndBooksNothing(Limit $limit): void
    {
        $store = Store::fake();
        $limiter = new Limiter();
        foreach (range(1, 3) as $_) {
            self::assertTrue($limiter->reserve('k', $limit, maxWait: 0.2)->allowed);
        }
        $refusal = $limiter->reserve('k', $limit, maxWait: 0.2);
        self::assertSame([false, 0.0, 0.1], [$refusal->allowed, $refusal->delay, round($refusal->retryAfter, 6)]);
        $store->advance($refusal->retryAfter);
        $booked = $limiter->reserve('k', $limit, maxWait: 0.2);
        self::assertSame([true, 0.2], [$booked->allowed, $booked->delay]);
    }

    public function testWithoutAWaitItTakesOnlyWhatIsThere(): void
    {
        Store::fake();
        $limiter = new Limiter();
        self::assertTrue($limiter->reserve('k', '1/s burst 1')->allowed);
        self::assertFalse($limiter->reserve('k', '1/s burst 1')->allowed);
    }

    public function testWhatIsBookedIsGone(): void
    {
        $store = Store::fake();
        $limiter = new Limiter();
        $limiter->reserve('k', '1/s burst 1');
        $limiter->reserve('k', '1/s burst 1', maxWait: 5.0);
        $store->advance(1);
        self::assertFalse($limiter->allow('k', '1/s burst 1'));
        $store->advance(1);
        self::assertTrue($limiter->allow('k', '1/s burst 1'));
    }

    public function testMoreThanTheBucketHoldsNeverComes(): void
    {
        Store::fake();
        $decision = (new Limiter())->reserve('k', '1/s burst 1', 2, maxWait: 3600.0);
        self::assertSame([false, null], [$decision->allowed, $decision->retryAfter]);
    }

    /** @dataProvider stores */
    public function testOnEveryStore(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        self::assertSame(0.0, $limiter->reserve($key, '1/h burst 1')->delay);
        $second = $limiter->reserve($key, '1/h burst 1', maxWait: 7200.0);
        self::assertTrue($second->allowed);
        self::assertEqualsWithDelta(3600.0, $second->delay, 60.0);
        self::assertFalse($limiter->reserve($key, '1/h burst 1', maxWait: 3660.0)->allowed);
        $limiter->refund($second);
        self::assertEqualsWithDelta(3600.0, $limiter->reserve($key, '1/h burst 1', maxWait: 7200.0)->delay, 60.0);
    }

    public static function stores(): iterable
    {
        return Stores::all();
    }
}
