<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limiter;
use Sluice\Store;
use Sluice\Tests\Support\Stores;
use Sluice\Tests\Support\TestCase;

/** A cost that is known only afterwards is debited in any case, and paid off. */
final class ChargeTest extends TestCase
{
    /** @dataProvider limits */
    public function testWithinTheLimitItIsAsIfItHadBeenAsked(string $limit): void
    {
        Store::fake();
        $limiter = new Limiter();
        $decision = $limiter->charge('k', $limit, 4);
        self::assertSame([true, 6, 10], [$decision->allowed, $decision->remaining, $decision->limit]);
        self::assertSame(6, $limiter->peek('k', $limit)->remaining);
    }

    /** @dataProvider limits */
    public function testBeyondItNothingIsAllowedBeforeTheDebtIsPaid(string $limit): void
    {
        $store = Store::fake(1_700_006_400.0);
        $limiter = new Limiter();
        $decision = $limiter->charge('k', $limit, 25);
        self::assertSame([false, 0], [$decision->allowed, $decision->remaining]);
        $wait = $limiter->peek('k', $limit)->retryAfter;
        self::assertGreaterThan(0.0, $wait);
        $store->advance($wait - 0.001);
        self::assertFalse($limiter->allow('k', $limit));
        $store->advance(0.001);
        self::assertTrue($limiter->allow('k', $limit));
    }

    public static function limits(): iterable
    {
        yield 'token bucket' => ['10/s burst 10'];
        yield 'leaky bucket' => ['10/s queue 10'];
        yield 'fixed window' => ['10/m fixed'];
        yield 'sliding window' => ['10/m'];
        yield 'quota' => ['10 per hour UTC'];
    }

    public function testADebtOfABucketIsPaidAtItsRate(): void
    {
        $store = Store::fake();
        $limiter = new Limiter();
        $limiter->charge('k', '10/s burst 10', 25);
        // Fifteen owed and one wanted, at ten a second.
        self::assertSame(1.6, $limiter->peek('k', '10/s burst 10')->retryAfter);
        $store->advance(1.6);
        self::assertTrue($limiter->allow('k', '10/s burst 10'));
    }

    /** @dataProvider stores */
    public function testOnEveryStore(callable $store): void
    {
        $limiter = new Limiter($store());
        foreach (['10/h burst 10', '10/h queue 10', '10/h fixed', '10/h', '10 per month UTC'] as $limit) {
            $key = self::freshKey();
            self::assertTrue($limiter->charge($key, $limit, 10)->allowed, $limit);
            self::assertFalse($limiter->charge($key, $limit, 10)->allowed, $limit);
            self::assertFalse($limiter->allow($key, $limit), $limit);
        }
    }

    public static function stores(): iterable
    {
        return Stores::all();
    }
}
