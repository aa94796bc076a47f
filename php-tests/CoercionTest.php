<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** Arguments are taken as the caller's strict_types says, like PHP's own. */
final class CoercionTest extends TestCase
{
    private TokenBucketLimiter $limiter;
    /** @var array<string, callable> calls from a file without strict_types */
    private array $weak;
    /** @var array<string, callable> the same calls from a file with it */
    private array $strict;

    protected function setUp(): void
    {
        $this->limiter = new TokenBucketLimiter(Store::memory());
        $this->weak = require __DIR__ . '/Fixtures/weak.php';
        $this->strict = require __DIR__ . '/Fixtures/strict.php';
    }

    public function testAWeakCallerMayPassNumbersAsText(): void
    {
        $decision = $this->weak['attempt']($this->limiter, 'k', '10', '0.5', '3');
        self::assertSame([10, 7, 6.0], [$decision->limit, $decision->remaining, $decision->resetAfter]);
    }

    public function testAWeakCallerMayPassANumberAsKey(): void
    {
        self::assertSame('42', $this->weak['attempt']($this->limiter, 42, 1, 1)->key);
        self::assertFalse($this->limiter->allow('42', 1, 1));
    }

    public function testAWeakCallerMayPassAnObjectThatIsText(): void
    {
        $key = new class () {
            public function __toString(): string
            {
                return 'from an object';
            }
        };
        self::assertSame('from an object', $this->weak['attempt']($this->limiter, $key, 1, 1)->key);
    }

    public function testAWeakCallerIsWarnedOfALostFraction(): void
    {
        self::assertSame(
            'Implicit conversion from float 1.5 to int loses precision',
            self::deprecationOf(fn () => $this->weak['attempt']($this->limiter, 'k', 1.5, 1)),
        );
    }

    public function testAWeakCallerIsWarnedOfNull(): void
    {
        self::assertSame(
            'Sluice\TokenBucketLimiter::attempt(): Passing null to parameter #1 ($key) of type string is deprecated',
            self::deprecationOf(fn () => $this->weak['attempt']($this->limiter, null, 1, 1)),
        );
    }

    /** @dataProvider whatNobodyMayPass */
    public function testAWeakCallerGetsATypeErrorToo(string $call, array $arguments, string $message): void
    {
        $this->expectException(\TypeError::class);
        $this->expectExceptionMessage($message);
        $this->weak[$call](...$this->with($call, $arguments));
    }

    /** @dataProvider whatNobodyMayPass */
    public function testAStrictCallerGetsATypeError(string $call, array $arguments, string $message): void
    {
        $this->expectException(\TypeError::class);
        $this->expectExceptionMessage($message);
        $this->strict[$call](...$this->with($call, $arguments));
    }

    public static function whatNobodyMayPass(): iterable
    {
        $store = 'Argument #1 ($store) must be of type Redis|Sluice\Store|string|null, ';
        $time = 'Argument #1 ($at) must be of type DateTimeInterface|float|null, ';
        $nameless = new class () {
        };
        $likeATime = new class () {
            public function format(): string
            {
                return '1';
            }
        };
        yield 'key' => ['attempt', [[], 1, 1], 'Argument #1 ($key) must be of type string, array given'];
        yield 'capacity' => ['attempt', ['k', 'ten', 1], 'Argument #2 ($capacity) must be of type int, string given'];
        yield 'capacity NAN' => ['attempt', ['k', NAN, 1], 'Argument #2 ($capacity) must be of type int, float given'];
        yield 'rate' => ['attempt', ['k', 1, 'fast'], 'Argument #3 ($rate) must be of type int|float, string given'];
        yield 'requested' => ['attempt', ['k', 1, 1, []], 'Argument #4 ($requested) must be of type int, array given'];
        yield 'window' => ['window', ['k', 1, 'long'], 'Argument #3 ($window) must be of type int|float, string given'];
        yield 'store' => ['construct', [[]], "{$store}array given"];
        yield 'store of another class' => ['construct', [new \ArrayObject()], "{$store}ArrayObject given"];
        yield 'store of no named class' => ['construct', [$nameless], "{$store}class@anonymous given"];
        yield 'time' => ['fake', ['today'], "{$time}string given"];
        yield 'time of another class' => ['fake', [new \ArrayObject()], "{$time}ArrayObject given"];
        yield 'time that only looks like one' => ['fake', [$likeATime], "{$time}class@anonymous given"];
        yield 'seconds' => ['advance', ['long'], 'Argument #1 ($seconds) must be of type float, string given'];
    }

    /** @dataProvider whatOnlyAWeakCallerMayPass */
    public function testAStrictCallerGetsATypeErrorWhereAWeakOneIsHelped(string $call, array $arguments, string $message): void
    {
        $this->weak[$call](...$this->with($call, $arguments));
        $this->expectException(\TypeError::class);
        $this->expectExceptionMessage($message);
        $this->strict[$call](...$this->with($call, $arguments));
    }

    public static function whatOnlyAWeakCallerMayPass(): iterable
    {
        yield 'key' => ['attempt', [42, 1, 1], 'Argument #1 ($key) must be of type string, int given'];
        yield 'capacity' => ['attempt', ['k', '10', 1], 'Argument #2 ($capacity) must be of type int, string given'];
        yield 'capacity as a float' => ['attempt', ['k', 10.0, 1], 'Argument #2 ($capacity) must be of type int, float given'];
        yield 'rate' => ['attempt', ['k', 1, '0.5'], 'Argument #3 ($rate) must be of type int|float, string given'];
        yield 'requested' => ['attempt', ['k', 1, 1, '1'], 'Argument #4 ($requested) must be of type int, string given'];
        yield 'window' => ['window', ['k', 1, '60'], 'Argument #3 ($window) must be of type int|float, string given'];
        yield 'time' => ['fake', ['1'], 'Argument #1 ($at) must be of type DateTimeInterface|float|null, string given'];
        yield 'seconds' => ['advance', ['1.5'], 'Argument #1 ($seconds) must be of type float, string given'];
    }

    public function testAStrictCallerMayPassAnIntAsFloat(): void
    {
        $store = $this->strict['fake'](1_700_000_000);
        $this->strict['advance']($store, 5);
        $decision = $this->strict['attempt'](new TokenBucketLimiter(), 'k', 1, 1);
        self::assertSame('1700000006', $decision->headers()['X-RateLimit-Reset']);
    }

    /** @dataProvider wrongCounts */
    public function testTooFewOrTooManyArgumentsAreAnError(array $arguments, string $message): void
    {
        $this->expectException(\ArgumentCountError::class);
        $this->expectExceptionMessage($message);
        $this->limiter->attempt(...$arguments);
    }

    public static function wrongCounts(): iterable
    {
        yield 'too few' => [['k', 1], 'Sluice\TokenBucketLimiter::attempt() expects at least 3 arguments, 2 given'];
        yield 'too many' => [['k', 1, 1, 1, 1], 'Sluice\TokenBucketLimiter::attempt() expects at most 4 arguments, 5 given'];
    }

    public function testAnArgumentWithAnUnknownNameIsAnError(): void
    {
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('Unknown named parameter $burst');
        $this->limiter->attempt('k', 1, 1, burst: 2);
    }

    private static function deprecationOf(callable $call): string
    {
        $seen = '';
        set_error_handler(function (int $level, string $message) use (&$seen): bool {
            $seen .= $message;
            return true;
        }, E_DEPRECATED);
        try {
            $call();
        } finally {
            restore_error_handler();
        }
        return $seen;
    }

    /** What a call needs in front of its arguments. */
    private function with(string $call, array $arguments): array
    {
        return match ($call) {
            'attempt' => [$this->limiter, ...$arguments],
            'advance' => [Store::memory(), ...$arguments],
            default => $arguments,
        };
    }
}
