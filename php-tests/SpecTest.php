<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;

/** A limit can be written as text, and a text that is none says where and why. */
final class SpecTest extends TestCase
{
    /**
     * Both count together, and under the same number.
     *
     * @dataProvider specs
     */
    public function testIsTheSameLimitAsTheOneOfObjects(string $spec, Limit $limit): void
    {
        Store::fake(1_700_000_000.0);
        $limiter = new Limiter();
        $limiter->attempt('k', $limit);
        $bySpec = $limiter->peek('k', $spec)->toArray();
        self::assertSame($limiter->peek('k', $limit)->toArray(), $bySpec);
        self::assertSame($bySpec, $limiter->peek('k', Limit::parse($spec))->toArray());
        self::assertSame($bySpec['limit'] - 1, $bySpec['remaining']);
    }

    public static function specs(): iterable
    {
        yield '60/m' => ['60/m', Limit::slidingWindow(60, 60)];
        yield 'blanks' => ['60 / minute', Limit::slidingWindow(60, 60)];
        yield 'a count of units' => ['10 per 5 minutes', Limit::slidingWindow(10, 300)];
        yield 'milliseconds' => ['5/250ms', Limit::slidingWindow(5, 0.25)];
        yield 'days' => ['5/2d', Limit::slidingWindow(5, 172_800)];
        yield 'a week' => ['5 per week', Limit::slidingWindow(5, 604_800)];
        yield 'fixed window' => ['60 per minute fixed', Limit::fixedWindow(60, 60)];
        yield 'token bucket' => ['20/s burst 100', Limit::tokenBucket(100, 20)];
        yield 'token bucket over a minute' => ['10/m burst 3', Limit::tokenBucket(3, 10, 60)];
        yield 'half a token a second' => ['0.5/s burst 3', Limit::tokenBucket(3, 0.5)];
        yield 'leaky bucket' => ['5/s queue 50', Limit::leakyBucket(50, 5)];
        yield 'quota' => ['1000 per day Asia/Shanghai', Limit::quota(1000, Period::Day, 'Asia/Shanghai')];
        yield 'quota of a month' => ['3/month UTC', Limit::quota(3, Period::Month, 'UTC')];
        yield 'concurrency' => ['10 concurrent', Limit::concurrency(10)];
        yield 'concurrency with a lease' => ['10 concurrent lease 5m', Limit::concurrency(10, 300)];
    }

    /** @dataProvider wrong */
    public function testAWrongOneSaysWhereAndWhatWasExpected(string $spec, int $column, string $expected): void
    {
        try {
            Limit::parse($spec);
        } catch (\ValueError $error) {
            $message = $error->getMessage();
            self::assertStringStartsWith('Sluice\Limit::parse(): Argument #1 ($spec) must be a spec such as "60/m"', $message);
            self::assertStringContainsString("at column {$column}, ", $message);
            self::assertStringContainsString($expected, $message);
            return;
        }
        self::fail("taken for a spec: {$spec}");
    }

    public static function wrong(): iterable
    {
        yield 'nothing' => ['', 1, 'expected a number, found the end'];
        yield 'no number' => ['x/m', 1, 'expected a number'];
        yield 'a number alone' => ['60', 3, 'expected "/", "per" or "concurrent", found the end'];
        yield 'no time' => ['60/', 4, 'expected a time such as s, m, hour, day or 5m, found the end'];
        yield 'no unit' => ['60/fortnight', 4, 'found "fortnight"'];
        yield 'no shape' => ['60/m bursts 5', 6, 'found "bursts"'];
        yield 'no capacity' => ['60/m burst', 11, 'expected a capacity, found the end'];
        yield 'too much' => ['60/m burst 5 6', 14, 'expected "leased" or the end, found "6"'];
        yield 'a month without a zone' => ['5/month', 8, 'time zone'];
        yield 'no such zone' => ['5/day Mars/Olympus', 7, 'Mars/Olympus'];
        yield 'half a request' => ['0.5/m', 1, 'expected a whole number, found 0.5'];
        yield 'too large' => ['99999999999/m', 1, '32000000'];
        yield 'a word after concurrent' => ['5 concurrent please', 14, 'expected "lease" or the end, found "please"'];
        yield 'letters of two bytes' => ['5/ü', 3, 'found "ü"'];
    }

    public function testAWrongOneInACallIsThatCallsArgument(): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('Sluice\Limiter::attempt(): Argument #2 ($limit) must be a spec such as');
        (new Limiter(Store::memory()))->attempt('k', '5/x');
    }

    public function testBytesThatAreNoTextAreRefused(): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('Argument #2 ($limit) must be UTF-8');
        (new Limiter(Store::memory()))->attempt('k', "5/\xff");
    }

    public function testALimitThatIsNeitherIsATypeError(): void
    {
        $this->expectException(\TypeError::class);
        $this->expectExceptionMessage('Argument #2 ($limit) must be of type Sluice\Limit|string, stdClass given');
        (new Limiter(Store::memory()))->attempt('k', new \stdClass());
    }
}
