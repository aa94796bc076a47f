<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** A number out of range is a ValueError with argument, range and number. */
final class BadNumbersTest extends TestCase
{
    private const CAPACITY = 'Argument #2 ($capacity) must be between 0 and 32000000, %s given';
    private const RATE = 'Argument #3 ($rate) must be 0, or between 1/31622400 (1 token in 366 days)'
        . ' and 1000000 tokens per second, %s given';
    private const LIMIT = 'Argument #2 ($limit) must be between 0 and 32000000, %s given';
    private const WINDOW = 'Argument #3 ($window) must be between 0.000001 and 31622400 seconds (366 days), %s given';
    private const REQUESTED = 'Argument #4 ($requested) must be 0 or more tokens, %s given';
    private const TIME = 'Argument #1 ($at) must be a Unix time between 0 and 9000000000, %s given';
    private const SECONDS = 'Argument #1 ($seconds) must be between 0 and 9000000000 seconds, %s given';

    /** @dataProvider bucketArguments */
    public function testOfATokenBucket(array $arguments, string $message, string $given): void
    {
        $limiter = new TokenBucketLimiter(Store::memory());
        foreach (['allow', 'attempt', 'peek'] as $method) {
            self::assertRefuses(
                "Sluice\\TokenBucketLimiter::{$method}(): " . sprintf($message, $given),
                fn () => $limiter->{$method}(...$arguments),
            );
        }
    }

    public static function bucketArguments(): iterable
    {
        yield 'negative capacity' => [['k', -1, 1], self::CAPACITY, '-1'];
        yield 'capacity one too large' => [['k', 32_000_001, 1], self::CAPACITY, '32000001'];
        yield 'largest int as capacity' => [['k', PHP_INT_MAX, 1], self::CAPACITY, '9223372036854775807'];
        yield 'negative rate' => [['k', 1, -1], self::RATE, '-1'];
        yield 'negative fraction' => [['k', 1, -0.5], self::RATE, '-0.5'];
        yield 'rate one too fast' => [['k', 1, 1_000_001], self::RATE, '1000001'];
        yield 'rate too slow' => [['k', 1, 1e-9], self::RATE, '1e-9'];
        yield 'rate NAN' => [['k', 1, NAN], self::RATE, 'NAN'];
        yield 'rate INF' => [['k', 1, INF], self::RATE, 'INF'];
        yield 'rate -INF' => [['k', 1, -INF], self::RATE, '-INF'];
        yield 'negative requested' => [['k', 1, 1, -1], self::REQUESTED, '-1'];
        yield 'smallest int as requested' => [['k', 1, 1, PHP_INT_MIN], self::REQUESTED, '-9223372036854775808'];
        yield 'a bucket that takes an age to fill' => [
            ['k', 32_000_000, 1e-7],
            'Argument #3 ($rate) is too low for a capacity of 32000000, which would take over 285 years to fill, %s given',
            '1e-7',
        ];
    }

    /** @dataProvider windowArguments */
    public function testOfAFixedWindow(array $arguments, string $message, string $given): void
    {
        $limiter = new FixedWindowLimiter(Store::memory());
        foreach (['allow', 'attempt', 'peek'] as $method) {
            self::assertRefuses(
                "Sluice\\FixedWindowLimiter::{$method}(): " . sprintf($message, $given),
                fn () => $limiter->{$method}(...$arguments),
            );
        }
        self::assertRefuses(
            'fixed_window_limit(): ' . sprintf($message, $given),
            fn () => fixed_window_limit(...$arguments),
        );
    }

    public static function windowArguments(): iterable
    {
        yield 'negative limit' => [['k', -1], self::LIMIT, '-1'];
        yield 'limit one too large' => [['k', 32_000_001], self::LIMIT, '32000001'];
        yield 'no window' => [['k', 1, 0], self::WINDOW, '0'];
        yield 'negative window' => [['k', 1, -60], self::WINDOW, '-60'];
        yield 'window shorter than a microsecond' => [['k', 1, 0.000_000_4], self::WINDOW, '4e-7'];
        yield 'window a second too long' => [['k', 1, 31_622_401], self::WINDOW, '31622401'];
        yield 'largest int as window' => [['k', 1, PHP_INT_MAX], self::WINDOW, '9223372036854775807'];
        yield 'window NAN' => [['k', 1, NAN], self::WINDOW, 'NAN'];
        yield 'window INF' => [['k', 1, INF], self::WINDOW, 'INF'];
        yield 'negative requested' => [['k', 1, 1, -1], self::REQUESTED, '-1'];
    }

    public function testOfAResetWindow(): void
    {
        self::assertRefuses(
            'Sluice\FixedWindowLimiter::reset(): Argument #2 ($window) must be between 0.000001 and 31622400'
                . ' seconds (366 days), -1 given',
            fn () => (new FixedWindowLimiter(Store::memory()))->reset('k', -1),
        );
    }

    /** @dataProvider times */
    public function testOfAFakeClock(float $given, string $shown): void
    {
        self::assertRefuses('Sluice\Store::fake(): ' . sprintf(self::TIME, $shown), fn () => Store::fake($given));
    }

    /** @dataProvider times */
    public function testOfAnAdvance(float $given, string $shown): void
    {
        self::assertRefuses(
            'Sluice\Store::advance(): ' . sprintf(self::SECONDS, $shown),
            fn () => Store::memory()->advance($given),
        );
    }

    public static function times(): iterable
    {
        yield 'negative' => [-0.5, '-0.5'];
        yield 'too large' => [1e300, '1e300'];
        yield 'NAN' => [NAN, 'NAN'];
        yield 'INF' => [INF, 'INF'];
        yield '-INF' => [-INF, '-INF'];
    }

    public function testAFakeClockDoesNotShowATimeBefore1970(): void
    {
        self::assertRefuses(
            'Argument #1 ($at) must be a Unix time between 0 and 9000000000, -86400',
            fn () => Store::fake(new \DateTimeImmutable('1969-12-31T00:00:00Z')),
        );
    }

    public function testTheFirstWrongArgumentIsNamed(): void
    {
        $limiter = new TokenBucketLimiter(Store::memory());
        self::assertRefuses('Argument #2 ($capacity)', fn () => $limiter->allow('k', -1, -1, -1));
        self::assertRefuses('Argument #3 ($rate)', fn () => $limiter->allow('k', 1, -1, -1));
    }

    public function testARefusedCallTakesNothing(): void
    {
        $limiter = new TokenBucketLimiter(Store::memory());
        self::assertRefuses('Argument #4 ($requested)', fn () => $limiter->allow('k', 1, 1, -1));
        self::assertTrue($limiter->allow('k', 1, 1));
    }

    private static function assertRefuses(string $message, callable $call): void
    {
        try {
            $call();
        } catch (\ValueError $error) {
            self::assertStringContainsString($message, $error->getMessage());
            return;
        }
        self::fail("not refused: {$message}");
    }
}
