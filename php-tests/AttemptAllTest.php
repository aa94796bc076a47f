<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;
use Sluice\Store;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;

/** Several limits at once: all are charged, or none is. */
final class AttemptAllTest extends TestCase
{
    /** @dataProvider stores */
    public function testASuccessTakesFromEach(callable $store): void
    {
        $limiter = new Limiter($store());
        [$user, $address] = [self::freshKey(), self::freshKey()];
        $decision = $limiter->attemptAll(
            Limit::slidingWindow(10, 3600)->by($user, 3),
            Limit::tokenBucket(10, 1, 86_400)->by($address, 5),
            Limit::quota(10, Period::Month, 'UTC')->by($user),
        );
        self::assertTrue($decision->allowed);
        self::assertSame([7, 5, 9], array_column($decision->parts, 'remaining'));
        self::assertSame(7, $limiter->peek($user, '10/h')->remaining);
        self::assertSame(5, $limiter->peek($address, '10/d burst 10')->remaining);
        self::assertSame(9, $limiter->peek($user, '10 per month UTC')->remaining);
    }

    /** @dataProvider stores */
    public function testWhereOneRefusesNoneIsCharged(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limits = [
            Limit::slidingWindow(10, 3600)->by($key),
            Limit::fixedWindow(10, 3600)->by($key, 11),
            Limit::tokenBucket(10, 1, 86_400)->by($key),
            Limit::leakyBucket(10, 1, 86_400)->by($key),
            Limit::quota(10, Period::Month, 'UTC')->by($key),
        ];
        $decision = $limiter->attemptAll(...$limits);
        self::assertFalse($decision->allowed);
        self::assertSame([true, false, true, true, true], array_column($decision->parts, 'allowed'));
        self::assertSame([10, 10, 10, 10, 10], array_column($decision->parts, 'remaining'));
        foreach ($limits as $limit) {
            self::assertSame(10, $limiter->peek($key, $limit)->remaining);
        }
    }

    /** @dataProvider stores */
    public function testOneAMinuteAndTenADayOnOnePhoneNeverShareACount(callable $store): void
    {
        $limiter = new Limiter($store());
        $phone = self::freshKey();
        $limits = [
            Limit::slidingWindow(1, 60)->by($phone)->named('sms-minute'),
            Limit::quota(10, Period::Month, 'Asia/Shanghai')->by($phone)->named('sms-month'),
        ];
        self::assertTrue($limiter->attemptAll(...$limits)->allowed);
        $refusal = $limiter->attemptAll(...$limits);
        self::assertSame([false, 'sms-minute'], [$refusal->allowed, $refusal->policy]);
        self::assertSame([0, 9], array_column($refusal->parts, 'remaining'));
    }

    public function testTenADayEndTheDayForAPhone(): void
    {
        $store = Store::fake(new \DateTimeImmutable('2026-05-01T00:00:00+08:00'));
        $limiter = new Limiter();
        $limits = [
            Limit::slidingWindow(1, 60)->by('phone'),
            Limit::quota(10, Period::Day, 'Asia/Shanghai')->by('phone'),
        ];
        for ($sms = 0; $sms < 10; $sms++) {
            self::assertTrue($limiter->attemptAll(...$limits)->allowed);
            self::assertFalse($limiter->attemptAll(...$limits)->allowed);
            $store->advance(60);
        }
        $refusal = $limiter->attemptAll(...$limits);
        self::assertSame([true, false], array_column($refusal->parts, 'allowed'));
        self::assertSame(86_400.0 - 600, $refusal->retryAfter);
        $store->advance($refusal->retryAfter);
        self::assertTrue($limiter->attemptAll(...$limits)->allowed);
    }

    /** @dataProvider stores */
    public function testPartsOfTheSameLimitAndKeyAreOneWithTheirCostsAdded(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limit = Limit::slidingWindow(5, 3600);
        self::assertFalse($limiter->attemptAll($limit->by($key, 3), $limit->by($key, 3))->allowed);
        self::assertSame(5, $limiter->peek($key, $limit)->remaining);
        $decision = $limiter->attemptAll($limit->by($key, 3), $limit->by($key, 2));
        self::assertTrue($decision->allowed);
        self::assertSame([0, 0], array_column($decision->parts, 'remaining'));
        self::assertSame(0, $limiter->peek($key, $limit)->remaining);
        $limiter->refund($decision);
        self::assertSame(5, $limiter->peek($key, $limit)->remaining);
    }

    /** @dataProvider stores */
    public function testANumberAndItsDigitsAreOneKeyAndNeverAPlaceInAList(callable $store): void
    {
        $limiter = new Limiter($store());
        $limit = Limit::slidingWindow(5, 3600)->named('n' . self::freshKey());
        $decision = $limiter->attemptAll($limit->by(5), $limit->by('5'), $limit->by(0), $limit->by(1));
        self::assertSame(['5', '5', '0', '1'], array_column($decision->parts, 'key'));
        self::assertSame([3, 3, 4, 4], array_column($decision->parts, 'remaining'));
        self::assertSame(3, $limiter->peek('5', $limit)->remaining);
    }

    public function testASuccessIsTheOneWithTheLeastLeft(): void
    {
        Store::fake();
        $decision = (new Limiter())->attemptAll(
            Limit::slidingWindow(100, 60)->by('a')->named('wide'),
            Limit::slidingWindow(3, 60)->by('b')->named('narrow'),
            Limit::none()->by('c'),
        );
        self::assertSame(
            [true, 'narrow', 'b', 3, 2],
            [$decision->allowed, $decision->policy, $decision->key, $decision->limit, $decision->remaining],
        );
    }

    public function testARefusalIsTheOneWithTheLongestWait(): void
    {
        Store::fake();
        $limiter = new Limiter();
        $limits = [
            Limit::slidingWindow(1, 60)->by('k')->named('short'),
            Limit::slidingWindow(1, 3600)->by('k')->named('long'),
            Limit::slidingWindow(100, 60)->by('k')->named('free'),
        ];
        $limiter->attemptAll(...$limits);
        $decision = $limiter->attemptAll(...$limits);
        self::assertSame([false, 'long', 3600.0], [$decision->allowed, $decision->policy, $decision->retryAfter]);
        $forEver = $limiter->attemptAll(Limit::slidingWindow(1, 60)->by('k', 2), ...$limits);
        self::assertSame([false, null], [$forEver->allowed, $forEver->retryAfter]);
    }

    /** @dataProvider stores */
    public function testADryRunCountsAsAllowingAndTellsWhatItWouldDo(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limits = [
            Limit::slidingWindow(1, 3600)->by($key)->dryRun(),
            Limit::slidingWindow(5, 7200)->by($key),
        ];
        self::assertFalse($limiter->attemptAll(...$limits)->wouldDeny);
        $decision = $limiter->attemptAll(...$limits);
        self::assertSame([true, true], [$decision->allowed, $decision->wouldDeny]);
        self::assertSame([true, false], array_column($decision->parts, 'wouldDeny'));
        self::assertSame(3, $limiter->peek($key, $limits[1])->remaining);
    }

    /** @dataProvider stores */
    public function testAPermitIsPartOfIt(callable $store): void
    {
        $limiter = new Limiter($store());
        [$key, $gateway] = [self::freshKey(), self::freshKey()];
        $decision = $limiter->attemptAll(
            Limit::slidingWindow(5, 3600)->by($key),
            Limit::concurrency(1)->by($gateway),
        );
        self::assertSame($gateway, $decision->permit->key);
        self::assertSame($decision->permit, $decision->parts[1]->permit);
        self::assertNull($limiter->acquire($gateway, '1 concurrent'));
        $decision->permit->release();
        self::assertNotNull($limiter->acquire($gateway, '1 concurrent'));
    }

    /** @dataProvider stores */
    public function testARefusalGivesNoPermitAndHoldsNone(callable $store): void
    {
        $limiter = new Limiter($store());
        [$key, $gateway] = [self::freshKey(), self::freshKey()];
        $limiter->allow($key, '1/h');
        foreach (range(1, 3) as $_) {
            $decision = $limiter->attemptAll(
                Limit::concurrency(1)->by($gateway),
                Limit::slidingWindow(1, 3600)->by($key),
            );
            self::assertSame([false, null], [$decision->allowed, $decision->permit]);
            self::assertSame([null, null], array_column($decision->parts, 'permit'));
        }
        self::assertSame(1, $limiter->peek($gateway, '1 concurrent')->remaining);
        self::assertNotNull($limiter->acquire($gateway, '1 concurrent'));
    }

    /** @dataProvider stores */
    public function testWithoutAPermitLeftNothingElseIsCharged(callable $store): void
    {
        $limiter = new Limiter($store());
        [$key, $gateway] = [self::freshKey(), self::freshKey()];
        $limiter->acquire($gateway, '1 concurrent');
        $decision = $limiter->attemptAll(
            Limit::slidingWindow(5, 3600)->by($key),
            Limit::concurrency(1)->by($gateway),
        );
        self::assertSame([false, 1.0], [$decision->allowed, $decision->retryAfter]);
        self::assertSame(5, $limiter->peek($key, '5/h')->remaining);
    }

    public function testTheHeadersListAllParts(): void
    {
        Store::fake(1_700_000_000.0);
        $decision = (new Limiter())->attemptAll(
            Limit::slidingWindow(5, 60)->by('k')->named('minute'),
            Limit::fixedWindow(100, 3600)->by('k')->named('hour'),
            Limit::concurrency(3)->by('k')->named('at-once'),
            Limit::none()->by('k'),
        );
        self::assertSame(
            [
                'RateLimit-Policy' => '"minute";q=5;w=60, "hour";q=100;w=3600, "at-once";q=3',
                'RateLimit' => '"minute";r=4;t=60, "hour";r=99;t=3600, "at-once";r=2;t=0',
                'X-RateLimit-Limit' => '3',
                'X-RateLimit-Remaining' => '2',
                'X-RateLimit-Reset' => '1700000000',
            ],
            $decision->headers(),
        );
    }

    public function testAsAnArrayItHasItsPartsAsArrays(): void
    {
        $decision = (new Limiter(Store::memory()))->attemptAll(
            Limit::slidingWindow(5, 60)->by('k'),
            Limit::concurrency(3)->by('k'),
        );
        $array = $decision->toArray();
        self::assertTrue($array['permit']);
        self::assertSame([false, true], array_column($array['parts'], 'permit'));
        self::assertSame($decision->parts[0]->toArray(), $array['parts'][0]);
        self::assertSame(json_encode($array), json_encode($decision));
    }

    public function testOnRedisItIsOneCall(): void
    {
        $server = RedisServer::start();
        $limiter = new Limiter($server->dsn());
        $limits = [
            Limit::slidingWindow(5, 60)->by('a'), Limit::tokenBucket(5, 1)->by('b'), Limit::concurrency(5)->by('c'),
        ];
        $limiter->attemptAll(...$limits);
        $server->resetStatistics();
        self::assertTrue($limiter->attemptAll(...$limits)->allowed);
        self::assertSame(1, $server->callsOf('evalsha'));
    }

    /** @dataProvider stores */
    public function testNoLimitAtAllNeverStandsInForOneThatDenies(callable $store): void
    {
        $limiter = new Limiter($store());
        self::assertFalse($limiter->attemptAll(Limit::none()->by('k'), Limit::deny()->by('k'))->allowed);
        self::assertFalse($limiter->attemptAll(Limit::deny()->by('k'), Limit::none()->by('k'))->allowed);
    }

    /**
     * Each part may cost one at most, so a second one of the same is a mistake, or held as well.
     *
     * @dataProvider stores
     */
    public function testTwoPermitsOfOneKeyAreNeverAllowedWithoutBeingHeld(callable $store): void
    {
        $limiter = new Limiter($store());
        $limit = Limit::concurrency(2)->by(self::freshKey());
        try {
            $decision = $limiter->attemptAll($limit, $limit);
        } catch (\ValueError) {
            $this->addToAssertionCount(1);
            return;
        }
        self::assertSame($decision->allowed, $decision->permit !== null);
    }

    /** `...['name' => $limit]` must not lose a limit. */
    public function testLimitsUnderNamesAreNotIgnored(): void
    {
        $limiter = new Limiter(Store::memory());
        $this->expectException(\Error::class);
        $limiter->attemptAll(Limit::slidingWindow(5, 60)->by('k'), ...['other' => Limit::deny()->by('k')]);
    }

    /** @dataProvider notLimits */
    public function testWhatIsNoLimitIsATypeError(mixed $value): void
    {
        $this->expectException(\TypeError::class);
        $this->expectExceptionMessage('Argument #1 must be of type Sluice\Limit, ');
        (new Limiter(Store::memory()))->attemptAll($value);
    }

    public static function notLimits(): iterable
    {
        yield 'a spec' => ['5/m'];
        yield 'an array' => [[Limit::none()]];
        yield 'another object' => [new \stdClass()];
        yield 'null' => [null];
    }

    public function testOneLimitIsEnough(): void
    {
        $decision = (new Limiter(Store::memory()))->attemptAll(Limit::slidingWindow(5, 60)->by('k', 2));
        self::assertSame([true, 3, 1], [$decision->allowed, $decision->remaining, count($decision->parts)]);
    }

    /** @dataProvider counts */
    public function testNoLimitIsAnErrorAndSoAreTooMany(int $count): void
    {
        $limit = Limit::slidingWindow(5, 60);
        $limits = array_map(fn (int $key) => $limit->by($key), $count > 0 ? range(1, $count) : []);
        $this->expectException(\Error::class);
        $this->expectExceptionMessage("attemptAll() takes 1 to 32 limits, {$count} given");
        (new Limiter(Store::memory()))->attemptAll(...$limits);
    }

    public static function counts(): iterable
    {
        yield 'none' => [0];
        yield 'too many' => [33];
    }

    /** @dataProvider stores */
    public function testThirtyTwoAreNotTooMany(callable $store): void
    {
        $limit = Limit::slidingWindow(5, 3600)->named('n' . self::freshKey());
        $limits = array_map(fn (int $key) => $limit->by($key), range(1, 32));
        $decision = (new Limiter($store()))->attemptAll(...$limits);
        self::assertSame(array_fill(0, 32, 4), array_column($decision->parts, 'remaining'));
    }

    /** @dataProvider wrong */
    public function testAWrongLimitIsNamedAndNothingIsTaken(Limit $wrong, string $message): void
    {
        $limiter = new Limiter(Store::memory());
        $limit = Limit::slidingWindow(1, 60)->by('k');
        try {
            $limiter->attemptAll($limit, $wrong);
            self::fail('not refused');
        } catch (\ValueError $error) {
            self::assertStringContainsString($message, $error->getMessage());
        }
        self::assertTrue($limiter->attemptAll($limit)->allowed);
    }

    public static function wrong(): iterable
    {
        yield 'without a key' => [Limit::slidingWindow(5, 60), 'must say whom it limits: ->by($key)'];
        yield 'two permits' => [Limit::concurrency(5)->by('k', 2), 'must cost 0 or 1, as a concurrency limit'];
    }

    public static function stores(): iterable
    {
        return Stores::all();
    }
}
