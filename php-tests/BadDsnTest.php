<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\ConfigException;
use Sluice\Store;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;

/** What is not a DSN is refused with a reason, and without its password. */
final class BadDsnTest extends TestCase
{
    private static array $seen;

    public static function setUpBeforeClass(): void
    {
        self::$seen = PhpProcess::with()->fixture('bad-dsns.php')->json();
    }

    /** @dataProvider dsns */
    public function testEveryPlaceThatTakesADsnSaysWhatIsWrong(string $name, string $reason): void
    {
        foreach (self::$seen[$name] as $place => $exception) {
            self::assertSame(ConfigException::class, $exception['class'], $place);
            self::assertTrue($exception['is ours'], $place);
            self::assertStringContainsString('must be a DSN: ', $exception['message'], $place);
            self::assertStringContainsString($reason, $exception['message'], $place);
        }
    }

    /** @dataProvider dsns */
    public function testNothingOfTheExceptionShowsThePassword(string $name): void
    {
        foreach (self::$seen[$name] as $place => $exception) {
            $everything = base64_decode($exception['everything']);
            self::assertStringContainsString('SensitiveParameterValue', $everything, $place);
            self::assertStringNotContainsString('hunter2', $everything, $place);
        }
    }

    public static function dsns(): iterable
    {
        foreach (require __DIR__ . '/Fixtures/bad-dsns.list.php' as $name => [, $reason]) {
            yield $name => [$name, $reason];
        }
    }

    /** @dataProvider options */
    public function testAWrongOptionIsNamed(array $options, string $reason): void
    {
        $this->expectException(ConfigException::class);
        $this->expectExceptionMessage('Sluice\Store::redis(): Argument #2 ($options) must ' . $reason);
        Store::redis('redis://host', $options);
    }

    public static function options(): iterable
    {
        yield 'unknown' => [['tiemout' => '1s'], 'fit the DSN: it has an option "tiemout", which is none of'];
        yield 'without a name' => [['50ms'], 'fit the DSN: it has an option "0", which is none of'];
        yield 'a bad time' => [['timeout' => 'soon'], 'fit the DSN: its timeout must be a time from 1ms to 60s'];
        yield 'a bad database' => [['db' => -1], 'fit the DSN: its database must be a number from 0 on'];
        yield 'no text' => [['timeout' => ['50ms']], 'hold strings and numbers, and "timeout" is neither'];
    }
}
