<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Failure;
use Sluice\Period;
use Sluice\Source;
use Sluice\Tests\Support\TestCase;

/** The enums are enums like any other. */
final class EnumsTest extends TestCase
{
    public function testEverySourceIsFoundUnderItsValue(): void
    {
        self::assertSame(
            ['shared-memory', 'redis', 'near-state', 'lease', 'fallback', 'failed-open', 'failed-closed', 'memory'],
            array_column(Source::cases(), 'value'),
        );
        self::assertSame(Source::SharedMemory, Source::from('shared-memory'));
        self::assertNull(Source::tryFrom('elsewhere'));
    }

    public function testEveryFailurePolicyIsAValueOfTheDirective(): void
    {
        foreach (Failure::cases() as $policy) {
            ini_set('sluice.on_failure', $policy->value);
            self::assertSame($policy->value, ini_get('sluice.on_failure'));
        }
        self::assertSame(['local', 'allow', 'deny', 'throw'], array_column(Failure::cases(), 'value'));
    }

    public function testEveryPeriodIsFoundUnderItsValue(): void
    {
        self::assertSame(['hour', 'day', 'week', 'month'], array_column(Period::cases(), 'value'));
    }

    public function testACaseSurvivesSerialization(): void
    {
        self::assertSame(Source::Redis, unserialize(serialize(Source::Redis)));
    }
}
