<?php

declare(strict_types=1);

namespace Sluice\Tests\Guzzle;

use Sluice\Guzzle\Pace;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;

/** Staying away is owing tokens, and being told twice is being told once. */
final class PaceTest extends TestCase
{
    /** @dataProvider buckets */
    public function testNothingIsBookedBeforeTheTimeIsOver(string $spec, int $seconds, float $until): void
    {
        Store::fake();
        $limiter = new Limiter();
        $limit = Limit::parse($spec);
        Pace::of($limit)->hold($limiter, 'k', $limit, $seconds);

        self::assertSame($until, $limiter->reserve('k', $limit, maxWait: 1000.0)->delay);
    }

    public static function buckets(): iterable
    {
        yield 'a second and a burst' => ['10/s burst 20', 30, 30.0];
        yield 'no burst' => ['10/s burst 1', 30, 30.0];
        yield 'a third of a second' => ['3/s burst 5', 7, 7.0];
        yield 'very many' => ['1000000/s burst 1000000', 30, 30.0];
        yield 'a token longer than the time: rounded up to tokens' => ['1/m burst 1', 30, 60.0];
        yield 'a queue' => ['5/s queue 500', 30, 30.0];
    }

    public function testBeingToldAgainOrForShorterChangesNothing(): void
    {
        $store = Store::fake();
        $limiter = new Limiter();
        $limit = Limit::parse('10/s burst 20');
        $pace = Pace::of($limit);
        $pace->hold($limiter, 'k', $limit, 30);
        $pace->hold($limiter, 'k', $limit, 30);
        $pace->hold($limiter, 'k', $limit, 5);
        self::assertSame(30.0, $limiter->peek('k', $limit)->retryAfter);

        $store->advance(20);
        $pace->hold($limiter, 'k', $limit, 30);
        self::assertSame(30.0, $limiter->peek('k', $limit)->retryAfter);
    }

    public function testWhatIsBookedMeanwhileQueuesBehindIt(): void
    {
        Store::fake();
        $limiter = new Limiter();
        $limit = Limit::parse('10/s burst 20');
        Pace::of($limit)->hold($limiter, 'k', $limit, 30);
        $delays = [];
        foreach (range(1, 3) as $ignored) {
            $delays[] = $limiter->reserve('k', $limit, maxWait: 60.0)->delay;
        }
        self::assertSame([30.0, 30.1, 30.2], $delays);
    }

    public function testATimeThatNoBucketCanOweEndsAtWhatItCan(): void
    {
        Store::fake();
        $limiter = new Limiter();
        $limit = Limit::parse('1000000/s burst 1');
        Pace::of($limit)->hold($limiter, 'k', $limit, 86_400);
        self::assertSame(32.0, $limiter->peek('k', $limit)->retryAfter);
    }

    /** @dataProvider others */
    public function testWhatIsNoBucketHasNoPace(string $spec): void
    {
        self::assertNull(Pace::of(Limit::parse($spec)));
    }

    public static function others(): iterable
    {
        foreach (['60/m', '60 per minute fixed', '1000 per day UTC', '3 concurrent'] as $spec) {
            yield $spec => [$spec];
        }
    }

    public function testAnEmptyAllowanceHasNoPaceEither(): void
    {
        self::assertNull(Pace::of(Limit::none()));
        self::assertNull(Pace::of(Limit::deny()));
    }
}
