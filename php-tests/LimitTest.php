<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Failure;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;

/** A limit says what is allowed, names a wrong number, and never changes. */
final class LimitTest extends TestCase
{
    private const SIZE = 'must be between 0 and 32000000';
    private const LENGTH = 'must be between 0.000001 and 31622400 seconds (366 days)';

    /** @dataProvider limits */
    public function testIsTheLimitThatItsNumbersSay(Limit $limit, int $size): void
    {
        $decision = (new Limiter(Store::memory()))->attempt('k', $limit);
        self::assertSame([$size > 0, $size], [$decision->allowed, $decision->limit]);
    }

    public static function limits(): iterable
    {
        yield 'token bucket' => [Limit::tokenBucket(7, 0.5), 7];
        yield 'token bucket over a time' => [Limit::tokenBucket(7, 10, per: 60), 7];
        yield 'largest token bucket' => [Limit::tokenBucket(32_000_000, 1_000_000), 32_000_000];
        yield 'token bucket of nothing' => [Limit::tokenBucket(0, 1), 0];
        yield 'fixed window' => [Limit::fixedWindow(7, 60), 7];
        yield 'shortest fixed window' => [Limit::fixedWindow(7, 0.000_001), 7];
        yield 'sliding window' => [Limit::slidingWindow(7, 60.5), 7];
        yield 'longest sliding window' => [Limit::slidingWindow(7, 31_622_400), 7];
        yield 'sliding window of nothing' => [Limit::slidingWindow(0, 60), 0];
        yield 'leaky bucket' => [Limit::leakyBucket(7, 5), 7];
        yield 'quota' => [Limit::quota(7, Period::Month, 'Asia/Shanghai'), 7];
        yield 'concurrency' => [Limit::concurrency(7), 7];
        yield 'concurrency with a lease' => [Limit::concurrency(100_000, lease: 0.5), 100_000];
        yield 'none' => [Limit::none(), PHP_INT_MAX];
        yield 'deny' => [Limit::deny(), 0];
    }

    public function testALimitIsWrittenAsTheSpecThatReadsAsIt(): void
    {
        foreach (['20/s burst 100', '10/m queue 5', '60/m', '3/90s fixed', '1000/day Asia/Shanghai', '8 concurrent lease 5m'] as $spec) {
            self::assertSame($spec, (string) Limit::parse($spec));
        }
        self::assertSame('10/m burst 20', (string) Limit::tokenBucket(20, 10, per: 60)->by('k')->named('api'));
        self::assertSame('none, deny', Limit::none() . ', ' . Limit::deny());
    }

    public function testARateOverATimeIsExact(): void
    {
        $store = Store::fake();
        $limit = Limit::tokenBucket(1, 1, per: 3);
        $limiter = new Limiter();
        $limiter->allow('k', $limit);
        $store->advance(2.999_999);
        self::assertFalse($limiter->allow('k', $limit));
        $store->advance(0.000_001);
        self::assertTrue($limiter->allow('k', $limit));
    }

    /** @dataProvider wrong */
    public function testAWrongArgumentIsNamedWithWhatIsAllowed(string $method, array $arguments, string $message): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage("Sluice\\Limit::{$method}(): Argument {$message}");
        $object = in_array($method, ['by', 'named', 'onFailure'], true) ? Limit::none() : Limit::class;
        [$object, $method](...$arguments);
    }

    public static function wrong(): iterable
    {
        foreach (['tokenBucket', 'leakyBucket'] as $bucket) {
            yield "{$bucket}, capacity" => [$bucket, [-1, 1], '#1 ($capacity) ' . self::SIZE];
            yield "{$bucket}, rate" => [$bucket, [1, -1], '#2 ($rate) must be 0, or between'];
            yield "{$bucket}, rate NAN" => [$bucket, [1, NAN], '#2 ($rate) must be 0, or between'];
            yield "{$bucket}, per" => [$bucket, [1, 1, 0], '#3 ($per) ' . self::LENGTH . ', 0 given'];
            yield "{$bucket}, per INF" => [$bucket, [1, 1, INF], '#3 ($per) ' . self::LENGTH . ', INF given'];
        }
        foreach (['fixedWindow', 'slidingWindow'] as $window) {
            yield "{$window}, limit" => [$window, [32_000_001, 1], '#1 ($limit) ' . self::SIZE . ', 32000001 given'];
            yield "{$window}, window" => [$window, [1, 0], '#2 ($window) ' . self::LENGTH . ', 0 given'];
            yield "{$window}, window NAN" => [$window, [1, NAN], '#2 ($window) ' . self::LENGTH . ', NAN given'];
            yield "{$window}, window too long" => [$window, [1, 31_622_401], '#2 ($window) ' . self::LENGTH];
        }
        yield 'quota, limit' => ['quota', [-5, Period::Day], '#1 ($limit) ' . self::SIZE . ', -5 given'];
        yield 'quota, time zone' => [
            'quota', [1, Period::Day, 'Mars/Olympus'],
            '#3 ($timezone) must be an IANA time zone such as Asia/Shanghai, "Mars/Olympus" given',
        ];
        yield 'concurrency, max' => ['concurrency', [100_001], '#1 ($max) must be between 0 and 100000, 100001 given'];
        yield 'concurrency, lease' => ['concurrency', [1, -1], '#2 ($lease) ' . self::LENGTH . ', -1 given'];
        yield 'by, cost' => ['by', ['k', -1], '#2 ($cost) must be 0 or more tokens, -1 given'];
        yield 'named, nothing' => ['named', [''], '#1 ($name) must be a name of 1 to 128 letters'];
        yield 'named, a digit first' => ['named', ['1st'], '#1 ($name) must be a name of 1 to 128 letters'];
        yield 'named, a blank' => ['named', ['a b'], '#1 ($name) must be a name of 1 to 128 letters'];
        yield 'named, too long' => ['named', [str_repeat('n', 129)], '#1 ($name) must be a name of 1 to 128 letters'];
        yield 'onFailure, share' => [
            'onFailure', [Failure::Local, 1.5], '#2 ($share) must be above 0 and at most 1, 1.5 given',
        ];
        yield 'onFailure, no share' => [
            'onFailure', [Failure::Local, 0.0], '#2 ($share) must be above 0 and at most 1, 0 given',
        ];
    }

    public function testAPeriodThatIsNoneIsATypeError(): void
    {
        $this->expectException(\TypeError::class);
        $this->expectExceptionMessage('Argument #2 ($period) must be of type Sluice\Period');
        Limit::quota(1, Failure::Allow);
    }

    public function testAChangeIsAnotherLimit(): void
    {
        $limit = Limit::slidingWindow(1, 60);
        $limiter = new Limiter(Store::memory());
        foreach ([$limit->named('other'), $limit->by('k'), $limit->dryRun(), $limit->onFailure(Failure::Deny)] as $new) {
            self::assertNotSame($limit, $new);
        }
        $limiter->allow('k', $limit);
        $decision = $limiter->attempt('k', $limit);
        self::assertSame([false, ''], [$decision->allowed, $decision->policy]);
    }

    public function testChangesAddUpAndTheLastOfAKindCounts(): void
    {
        $limit = Limit::slidingWindow(1, 60)->named('first')->dryRun()->named('second')->dryRun(false);
        $limiter = new Limiter(Store::memory());
        $limiter->allow('k', $limit);
        $decision = $limiter->attempt('k', $limit);
        self::assertSame([false, 'second'], [$decision->allowed, $decision->policy]);
    }

    public function testANameMakesACountOfItsOwn(): void
    {
        $limiter = new Limiter(Store::memory());
        $limit = Limit::slidingWindow(1, 60);
        foreach ([$limit, $limit->named('a'), $limit->named('b')] as $named) {
            self::assertTrue($limiter->allow('k', $named));
            self::assertFalse($limiter->allow('k', $named));
        }
    }

    public function testANumberAsAKeyIsItsDigits(): void
    {
        $limiter = new Limiter(Store::memory());
        $limit = Limit::slidingWindow(1, 60);
        self::assertSame('-5', $limiter->attemptAll($limit->by(-5))->key);
        self::assertTrue($limiter->attemptAll($limit->by(5))->allowed);
        self::assertFalse($limiter->attemptAll($limit->by('5'))->allowed);
    }
}
