<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;
use Sluice\Store;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;

/** A quota begins anew when the calendar of its time zone does. */
final class QuotaTest extends TestCase
{
    private const HOUR = 3600.0;
    private const DAY = 24 * self::HOUR;

    /** @dataProvider periods */
    public function testEndsWhenThePeriodDoesAndNotBefore(
        Period $period,
        string $zone,
        string $at,
        float $left,
    ): void {
        $store = Store::fake(new \DateTimeImmutable($at));
        $limiter = new Limiter();
        $limit = Limit::quota(1, $period, $zone);
        $first = $limiter->attempt('k', $limit);
        self::assertSame([true, $left], [$first->allowed, $first->resetAfter]);
        $store->advance($left - 0.000_001);
        $refusal = $limiter->attempt('k', $limit);
        self::assertSame([false, 0.000_001], [$refusal->allowed, $refusal->retryAfter]);
        $store->advance(0.000_001);
        self::assertTrue($limiter->allow('k', $limit));
    }

    public static function periods(): iterable
    {
        yield 'an hour' => [Period::Hour, 'UTC', '2026-05-01T10:15:00Z', 0.75 * self::HOUR];
        yield 'an hour in a zone of half hours' => [
            Period::Hour, 'Asia/Kolkata', '2026-05-01T10:15:00Z', 0.25 * self::HOUR,
        ];
        yield 'a day' => [Period::Day, 'Asia/Shanghai', '2026-05-01T23:00:00+08:00', self::HOUR];
        yield 'a day in UTC' => [Period::Day, 'UTC', '2026-05-01T23:00:00+08:00', 9 * self::HOUR];
        yield 'a week from Monday on' => [Period::Week, 'UTC', '2026-05-04T00:00:00Z', 7 * self::DAY];
        yield 'a Sunday' => [Period::Week, 'UTC', '2026-05-03T00:00:00Z', self::DAY];
        yield 'a week over New Year' => [Period::Week, 'UTC', '2027-01-01T00:00:00Z', 3 * self::DAY];
        yield 'a month' => [Period::Month, 'UTC', '2026-04-01T00:00:00Z', 30 * self::DAY];
        yield 'a February in a leap year' => [Period::Month, 'UTC', '2028-02-01T00:00:00Z', 29 * self::DAY];
        yield 'a month with a shorter day' => [
            Period::Month, 'America/New_York', '2026-03-01T00:00:00-05:00', 31 * self::DAY - self::HOUR,
        ];

        yield 'a day of 23 hours' => [
            Period::Day, 'America/New_York', '2026-03-08T00:00:00-05:00', 23 * self::HOUR,
        ];
        yield 'a day of 25 hours' => [
            Period::Day, 'America/New_York', '2026-11-01T00:00:00-04:00', 25 * self::HOUR,
        ];
        yield 'the hour that comes twice, first' => [
            Period::Hour, 'America/New_York', '2026-11-01T01:00:00-04:00', self::HOUR,
        ];
        yield 'the hour that comes twice, again' => [
            Period::Hour, 'America/New_York', '2026-11-01T01:00:00-05:00', self::HOUR,
        ];
        yield 'the hour before one that is left out' => [
            Period::Hour, 'America/New_York', '2026-03-08T01:30:00-05:00', 0.5 * self::HOUR,
        ];
        // 2026-04-24 begins at 01:00 there.
        yield 'a day without a midnight' => [
            Period::Day, 'Africa/Cairo', '2026-04-23T22:00:00Z', 23 * self::HOUR,
        ];
        yield 'the day before it' => [Period::Day, 'Africa/Cairo', '2026-04-23T00:00:00+02:00', self::DAY];
        // The clock goes back from 02:00 to 01:30, and forward from 02:00 to 02:30.
        yield 'a day of 24 and a half hours' => [
            Period::Day, 'Australia/Lord_Howe', '2026-04-05T00:00:00+11:00', 24.5 * self::HOUR,
        ];
        yield 'a day of 23 and a half hours' => [
            Period::Day, 'Australia/Lord_Howe', '2026-10-04T00:00:00+10:30', 23.5 * self::HOUR,
        ];
    }

    public function testZonesAndPeriodsCountApartOnOneKey(): void
    {
        Store::fake(new \DateTimeImmutable('2026-05-01T12:00:00Z'));
        $limiter = new Limiter();
        foreach (Period::cases() as $period) {
            foreach (['UTC', 'Asia/Shanghai'] as $zone) {
                self::assertTrue($limiter->allow('k', Limit::quota(1, $period, $zone)));
                self::assertFalse($limiter->allow('k', Limit::quota(1, $period, $zone)));
            }
        }
    }

    public function testTheZoneThatItNamesNoneIsThatOfTheDirective(): void
    {
        Store::fake(new \DateTimeImmutable('2026-05-01T12:00:00Z'));
        ini_set('sluice.timezone', 'Asia/Shanghai');
        self::assertSame(4 * self::HOUR, (new Limiter())->attempt('k', Limit::quota(1, Period::Day))->resetAfter);
        // One that it names counts.
        $named = Limit::quota(1, Period::Day, 'UTC');
        self::assertSame(12 * self::HOUR, (new Limiter())->attempt('k', $named)->resetAfter);
    }

    /** @dataProvider zones */
    public function testWithoutTheDirectiveItIsPhpsAndElseUtc(array $ini, int $hours): void
    {
        $seen = PhpProcess::with($ini)->code(<<<'PHP'
            Sluice\Store::fake(new DateTimeImmutable('2026-05-01T12:00:00Z'));
            $limit = Sluice\Limit::quota(1, Sluice\Period::Day);
            echo json_encode((new Sluice\Limiter())->attempt('k', $limit)->resetAfter / 3600);
            PHP);
        self::assertSame($hours, $seen->json());
    }

    public static function zones(): iterable
    {
        yield 'neither' => [[], 12];
        yield 'PHP\'s' => [['date.timezone' => 'Asia/Shanghai'], 4];
        yield 'both' => [['date.timezone' => 'Asia/Shanghai', 'sluice.timezone' => 'Asia/Tokyo'], 3];
    }

    public function testAZoneThatTheDirectiveDoesNotKnowIsNotUsed(): void
    {
        self::assertFalse(@ini_set('sluice.timezone', 'Mars/Olympus'));
        self::assertSame('', ini_get('sluice.timezone'));
    }
}
