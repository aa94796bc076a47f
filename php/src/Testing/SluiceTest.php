<?php

declare(strict_types=1);

namespace Sluice\Testing;

use Carbon\Carbon;
use Carbon\CarbonImmutable;
use DateTimeInterface;
use PHPUnit\Framework\Assert;
use Sluice\Decision;
use Sluice\DeniedException;
use Sluice\Http\Verdict;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Store;
use Throwable;

/**
 * Limits in tests: an empty store, and a time that stands still until the test
 * moves it. Nobody sleeps.
 *
 * ```php
 * protected function setUp(): void
 * {
 *     parent::setUp();
 *     SluiceTest::fake();
 * }
 *
 * public function testSixtyAMinute(): void
 * {
 *     SluiceTest::assertAllowedTimes(60, fn () => $this->get('/api/orders'));
 *     SluiceTest::advance(60);   // or $this->travel(1)->minutes()
 *     SluiceTest::assertAllowed(fn () => $this->get('/api/orders'));
 * }
 * ```
 *
 * Or `use FakesLimits;` in the test, which fakes before and restores after each.
 * Where Carbon is there, its time is this time, in both directions.
 */
final class SluiceTest
{
    private static ?Store $store = null;
    /** The time that the store shows, in Unix seconds. */
    private static float $now = 0.0;

    /**
     * Puts an empty store in the place of the default one, and stops the time.
     *
     * @param DateTimeInterface|float|null $at what time it is; null is now
     */
    public static function fake(DateTimeInterface|float|null $at = null): Store
    {
        self::$now = match (true) {
            $at instanceof DateTimeInterface => (float) $at->format('U.u'),
            $at !== null => $at,
            default => self::carbon() ?? microtime(true),
        };
        self::$store = Store::fake(self::$now);
        self::setCarbon(self::$now);
        return self::$store;
    }

    /** The default store is that of php.ini again, and time goes by. */
    public static function restore(): void
    {
        if (self::$store !== null) {
            self::$store = null;
            Store::restore();
            self::setCarbon(null);
        }
    }

    /** Moves the time ahead, Carbon's too. */
    public static function advance(float $seconds): void
    {
        self::follow();
        self::store()->advance($seconds);
        self::$now += $seconds;
        self::setCarbon(self::$now);
    }

    /**
     * Goes along with a Carbon that a test has moved ahead, as `travel()` of
     * Laravel does. Adapters call it; in a test of your own code do so before
     * you ask a limiter yourself.
     */
    public static function follow(): void
    {
        $now = self::$store === null ? null : self::carbon();
        if ($now !== null && $now !== self::$now) {
            // What was spent in the future stays spent: back is no way.
            if ($now > self::$now) {
                self::store()->advance(round($now - self::$now, 6));
            }
            self::$now = $now;
        }
    }

    /**
     * That the request is refused: the callable returns false, a refusal, or a
     * response with status 429, or throws what means one.
     *
     * @param callable(): mixed $request
     */
    public static function assertLimited(callable $request, string $message = 'The request was not limited.'): void
    {
        Assert::assertFalse(self::passes($request), $message);
    }

    /**
     * That the request passes.
     *
     * @param callable(): mixed $request
     */
    public static function assertAllowed(callable $request, string $message = 'The request was limited.'): void
    {
        Assert::assertTrue(self::passes($request), $message);
    }

    /**
     * That it passes exactly so many times, and is refused the next time.
     *
     * @param callable(): mixed $request
     */
    public static function assertAllowedTimes(int $times, callable $request): void
    {
        for ($time = 1; $time <= $times; $time++) {
            self::assertAllowed($request, "Request {$time} of {$times} was limited.");
        }
        self::assertLimited($request, "Request {$times} was not the last one to pass.");
    }

    /** That so many tokens are left for a key. Takes none. */
    public static function assertRemaining(int $expected, string $key, Limit|string $limit): void
    {
        self::follow();
        Assert::assertSame($expected, (new Limiter())->peek($key, $limit)->remaining, "Tokens left for \"{$key}\".");
    }

    /**
     * That it is refused now, still is just before so many seconds are over, and
     * passes then. Moves the time, and takes what the last request takes.
     *
     * @param callable(): mixed $request
     */
    public static function assertAllowedAfter(float $seconds, callable $request): void
    {
        self::assertLimited($request);
        self::advance($seconds - 0.000_001);
        self::assertLimited($request, "The request passes before {$seconds} seconds are over.");
        self::advance(0.000_001);
        self::assertAllowed($request, "The request does not pass after {$seconds} seconds.");
    }

    /** @param callable(): mixed $request */
    private static function passes(callable $request): bool
    {
        self::follow();
        try {
            return self::isPass($request());
        } catch (Throwable $error) {
            if ($error instanceof DeniedException || self::status($error) === 429) {
                return false;
            }
            throw $error;
        }
    }

    private static function isPass(mixed $result): bool
    {
        return match (true) {
            is_bool($result) => $result,
            $result instanceof Decision, $result instanceof Verdict => $result->allowed,
            is_object($result) => self::status($result) !== 429,
            default => true,
        };
    }

    /** The status of a response, or of an exception that stands for one, of whatever framework. */
    private static function status(object $answer): ?int
    {
        // Laravel's TestResponse passes calls on to its response.
        $status = is_callable([$answer, 'getStatusCode']) ? $answer->getStatusCode() : null;
        return is_int($status) ? $status : null;
    }

    private static function store(): Store
    {
        return self::$store ?? throw new \LogicException('call SluiceTest::fake() first');
    }

    /** Carbon's time if it stands still, else null. */
    private static function carbon(): ?float
    {
        return class_exists(Carbon::class) && Carbon::hasTestNow() ? (float) Carbon::now()->format('U.u') : null;
    }

    private static function setCarbon(?float $now): void
    {
        foreach ([Carbon::class, CarbonImmutable::class] as $class) {
            if (class_exists($class)) {
                $class::setTestNow($now === null ? null : $class::createFromFormat('U.u', sprintf('%.6F', $now)));
            }
        }
    }
}
