<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;
use Sluice\RateLimiter;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** One limiter for every kind of limit, on every store. */
final class LimiterTest extends TestCase
{
    /** @dataProvider kindsOnStores */
    public function testAllowsWhatTheLimitHasAndNoMore(callable $store, Limit $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        self::assertSame([true, true, false], array_map(fn () => $limiter->allow($key, $limit), range(1, 3)));
    }

    /** @dataProvider kindsOnStores */
    public function testAnAttemptTellsWhatIsLeft(callable $store, Limit $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $decisions = array_map(fn () => $limiter->attempt($key, $limit), range(1, 3));
        self::assertSame([true, true, false], array_column($decisions, 'allowed'));
        self::assertSame([1, 0, 0], array_column($decisions, 'remaining'));
        self::assertSame([2, 2, 2], array_column($decisions, 'limit'));
        self::assertSame([0.0, 0.0], [$decisions[0]->retryAfter, $decisions[1]->retryAfter]);
        self::assertGreaterThan(0.0, $decisions[2]->retryAfter);
        self::assertSame($key, $decisions[2]->key);
    }

    /** @dataProvider kindsOnStores */
    public function testAPeekTakesNothing(callable $store, Limit $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $held = $limiter->attempt($key, $limit);
        foreach (range(1, 3) as $_) {
            $seen = $limiter->peek($key, $limit);
            self::assertSame([true, 1, null], [$seen->allowed, $seen->remaining, $seen->permit]);
        }
        self::assertTrue($held->allowed);
    }

    /** @dataProvider kindsOnStores */
    public function testAResetForgetsWhatWasTaken(callable $store, Limit $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limiter->allow($key, $limit);
        $limiter->allow($key, $limit);
        $limiter->reset($key, $limit);
        self::assertSame(2, $limiter->peek($key, $limit)->remaining);
    }

    /** @dataProvider kindsOnStores */
    public function testACostOfNothingTakesNothing(callable $store, Limit $limit): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $decision = $limiter->attempt($key, $limit, 0);
        self::assertSame([true, 2, null], [$decision->allowed, $decision->remaining, $decision->permit]);
    }

    public static function kindsOnStores(): iterable
    {
        foreach (Stores::all() as $name => [$store]) {
            foreach (self::kinds() as $kind => $limit) {
                yield "{$kind} on {$name}" => [$store, $limit];
            }
        }
    }

    /** @return array<string, Limit> of two, and too slow for a third while a test runs */
    private static function kinds(): array
    {
        return [
            'token bucket' => Limit::tokenBucket(2, 2, 86_400),
            'leaky bucket' => Limit::leakyBucket(2, 2, 86_400),
            'fixed window' => Limit::fixedWindow(2, 86_400),
            'sliding window' => Limit::slidingWindow(2, 86_400),
            'quota' => Limit::quota(2, Period::Month, 'UTC'),
            'concurrency' => Limit::concurrency(2),
        ];
    }

    /** @dataProvider stores */
    public function testTheShortFormsShareTheirStateWithIt(callable $store): void
    {
        $store = $store();
        [$limiter, $key] = [new Limiter($store), self::freshKey()];
        (new TokenBucketLimiter($store))->attempt($key, 10, 1 / 3600, requested: 4);
        self::assertSame(5, $limiter->attempt($key, Limit::tokenBucket(10, 1, 3600))->remaining);
        (new FixedWindowLimiter($store))->attempt($key, 10, 3600, requested: 3);
        self::assertSame(6, $limiter->attempt($key, Limit::fixedWindow(10, 3600))->remaining);
        self::assertSame(6, (new FixedWindowLimiter($store))->peek($key, 10, 3600)->remaining);
    }

    /** @dataProvider stores */
    public function testKindsAndWindowsCountApartOnOneKey(callable $store): void
    {
        $limiter = new Limiter($store());
        $key = self::freshKey();
        $limits = [...array_values(self::kinds()), Limit::slidingWindow(2, 60), Limit::quota(2, Period::Month, 'Asia/Shanghai')];
        foreach ($limits as $limit) {
            self::assertSame(1, $limiter->attempt($key, $limit)->remaining);
        }
    }

    public static function stores(): iterable
    {
        return Stores::all();
    }

    /** @dataProvider unsupported */
    public function testWhatAKindCannotDoIsAValueErrorThatSaysSo(callable $call, string $message): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage($message);
        $call(new Limiter(\Sluice\Store::memory()));
    }

    public static function unsupported(): iterable
    {
        $bucket = 'Argument #2 ($limit) must be a token bucket or a leaky bucket, a ';
        yield 'a window reserved' => [fn (Limiter $l) => $l->reserve('k', '5/m'), "{$bucket}sliding window given"];
        yield 'a fixed window reserved' => [
            fn (Limiter $l) => $l->reserve('k', '5/m fixed'), "{$bucket}fixed window given",
        ];
        yield 'a quota reserved' => [fn (Limiter $l) => $l->reserve('k', '5 per day UTC'), "{$bucket}quota given"];
        yield 'a permit reserved' => [
            fn (Limiter $l) => $l->reserve('k', '5 concurrent'), "{$bucket}concurrency limit given",
        ];
        yield 'a permit waited for' => [
            fn (Limiter $l) => $l->wait('k', '5 concurrent'),
            'Argument #2 ($limit) must be a limit that counts tokens (use run()), a concurrency limit given',
        ];
        yield 'a permit charged' => [
            fn (Limiter $l) => $l->charge('k', '5 concurrent', 1),
            'Argument #2 ($limit) must be a limit that counts tokens, a concurrency limit given',
        ];
        yield 'two permits' => [
            fn (Limiter $l) => $l->attempt('k', '5 concurrent', 2),
            'Argument #3 ($cost) must be 0 or 1 for a concurrency limit, 2 given',
        ];
        yield 'a bucket acquired' => [
            fn (Limiter $l) => $l->acquire('k', '5/s burst 5'),
            'Argument #2 ($limit) must be a concurrency limit, a token bucket given',
        ];
        yield 'a window run' => [
            fn (Limiter $l) => $l->run('k', '5/s', fn () => 1),
            'Argument #2 ($limit) must be a concurrency limit, a sliding window given',
        ];
        yield 'a negative cost' => [
            fn (Limiter $l) => $l->allow('k', '5/s', -1), 'Argument #3 ($cost) must be 0 or more tokens, -1 given',
        ];
        yield 'a negative wait' => [
            fn (Limiter $l) => $l->wait('k', '5/s', 1, -1.0),
            'Argument #4 ($maxWait) must be between 0 and 31622400 seconds (366 days), -1 given',
        ];
        yield 'a wait of NAN' => [
            fn (Limiter $l) => $l->reserve('k', '5/s burst 5', 1, NAN), 'Argument #4 ($maxWait) must be between 0 and',
        ];
    }

    public function testAnApplicationCanHaveALimiterOfItsOwn(): void
    {
        self::assertInstanceOf(RateLimiter::class, new Limiter());
        $method = new \ReflectionMethod(RateLimiter::class, 'attemptAll');
        self::assertTrue($method->isVariadic());
        self::assertSame('limits', $method->getParameters()[0]->getName());
    }
}
