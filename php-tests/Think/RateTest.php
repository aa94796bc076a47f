<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use InvalidArgumentException;
use Sluice\Limiter;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\Think\Driver;
use Sluice\Think\Rate;

/** From a rate and a driver's class to a limit. */
final class RateTest extends TestCase
{
    /** @dataProvider rates */
    public function testAllThatThinkThrottleReads(string $text, int $requests, int $seconds): void
    {
        $rate = Rate::parse($text);
        self::assertSame([$requests, $seconds], [$rate->requests, $rate->seconds]);
    }

    /** @return iterable<string, array{string, int, int}> */
    public static function rates(): iterable
    {
        yield 'a second' => ['1/s', 1, 1];
        yield 'a minute' => ['10/m', 10, 60];
        yield 'an hour' => ['98/h', 98, 3600];
        yield 'a day' => ['300/d', 300, 86400];
        yield 'seconds' => ['200/300', 200, 300];
        yield 'nothing' => ['0/m', 0, 60];
        yield 'leading zeros' => ['007/060', 7, 60];
        yield 'the longest' => ['1/31622400', 1, 31_622_400];
    }

    /** @dataProvider noRates */
    public function testWhatIsNoRateSaysSo(string $text): void
    {
        $this->expectException(InvalidArgumentException::class);
        $this->expectExceptionMessage("the rate \"{$text}\"");
        Rate::parse($text);
    }

    /** @return iterable<array{string}> */
    public static function noRates(): iterable
    {
        foreach (
            ['', '10', '10/', '/m', '10/x', '10/M', ' 10/m', '10/m ', "10/m\n", '-1/m', '1.5/m', '10/m/m', '10/0',
            '10/-60', '１０/m', '10/31622401', '999999999999999999999/m', '20/s burst 100'] as $text
        ) {
            yield [$text];
        }
    }

    public function testEachDriverIsAKind(): void
    {
        $told = [];
        foreach (Driver::cases() as $driver) {
            $told[$driver->name] = (string) $driver->limit(Rate::parse('120/m'));
        }
        self::assertSame([
            'CounterFixed' => '120/m fixed',
            'CounterSlider' => '120/m',
            'TokenBucket' => '2/s burst 120',
            'LeakyBucket' => '2/s queue 1',
        ], $told);
    }

    public function testADriverIsFoundByItsClassHoweverWritten(): void
    {
        self::assertSame(Driver::CounterFixed, Driver::ofClass('think\middleware\throttle\CounterFixed'));
        self::assertSame(Driver::TokenBucket, Driver::ofClass('\think\Middleware\throttle\tokenbucket'));
        self::assertNull(Driver::ofClass('app\MyDriver'));
    }

    /** @dataProvider drivers */
    public function testHowManyPassAtOnceAndAfterwards(Driver $driver, int $atOnce, int $afterAThird): void
    {
        $store = Store::fake();
        $limit = $driver->limit(Rate::parse('6/60'));
        $pass = static function () use ($limit): int {
            for ($passed = 0; $passed < 20 && (new Limiter())->allow('k', $limit); $passed++);
            return $passed;
        };
        self::assertSame($atOnce, $pass());
        $store->advance(20);
        self::assertSame($afterAThird, $pass());
    }

    /** @return iterable<string, array{Driver, int, int}> */
    public static function drivers(): iterable
    {
        yield 'a fixed window ends as a whole' => [Driver::CounterFixed, 6, 0];
        yield 'so does a sliding one, if all came at once' => [Driver::CounterSlider, 6, 0];
        yield 'a bucket gets a third back in a third of the time' => [Driver::TokenBucket, 6, 2];
        yield 'a leaky bucket lets one through at a time' => [Driver::LeakyBucket, 1, 1];
    }

    public function testZeroRefusesUnderEachDriver(): void
    {
        Store::fake();
        foreach (Driver::cases() as $driver) {
            self::assertFalse((new Limiter())->allow('k', $driver->limit(Rate::parse('0/m'))), $driver->name);
        }
    }
}
