<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;

/** What editors and analysers read is what PHP has. */
final class StubsTest extends TestCase
{
    private static array $extension;
    private static array $stub;

    public static function setUpBeforeClass(): void
    {
        self::$extension = PhpProcess::with()->fixture('surface.php')->json();
        self::$stub = PhpProcess::withoutTheExtension()
            ->fixture('surface.php', realpath(__DIR__ . '/../stubs/sluice.php'))
            ->json();
    }

    public function testTheStubDeclaresAllThatTheExtensionHas(): void
    {
        self::assertSame([], array_keys(array_diff_key(self::$extension['surface'], self::$stub['surface'])));
    }

    public function testTheStubDeclaresNothingThatTheExtensionHasNot(): void
    {
        self::assertSame([], array_keys(array_diff_key(self::$stub['surface'], self::$extension['surface'])));
    }

    /** @dataProvider elements */
    public function testTheStubSaysWhatReflectionSays(string $element): void
    {
        self::assertSame(self::$extension['surface'][$element], self::$stub['surface'][$element]);
    }

    public static function elements(): iterable
    {
        $surface = PhpProcess::with()->fixture('surface.php')->json()['surface'];
        foreach (array_keys($surface) as $element) {
            yield $element => [$element];
        }
    }

    public function testEveryElementOfTheStubIsDescribed(): void
    {
        self::assertSame([], self::$stub['undocumented']);
    }

    public function testTheTwoShortNamesAreAliases(): void
    {
        $aliases = ['class TokenBucketLimiter', 'class fixed_window_limit'];
        self::assertSame(
            ['Sluice\TokenBucketLimiter', 'Sluice\FixedWindowLimiter'],
            array_map(fn (string $alias) => self::$extension['surface'][$alias], $aliases),
        );
    }
}
