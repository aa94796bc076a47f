<?php

declare(strict_types=1);

namespace Sluice\Tests\Symfony;

use Sluice\Failure;
use Sluice\Http\HeaderStyle;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Store;
use Sluice\StoreException;
use Sluice\Symfony\CompoundLimiter;
use Sluice\Symfony\CompoundLimiterFactory;
use Sluice\Symfony\EngineLimiter;
use Sluice\Symfony\EngineRateLimit;
use Sluice\Symfony\LimiterFactory;
use Sluice\Symfony\SluiceBundle;
use Sluice\Tests\Support\TestCase;
use Symfony\Component\RateLimiter\Exception\MaxWaitDurationExceededException;
use Symfony\Component\RateLimiter\Exception\RateLimitExceededException;
use Symfony\Component\RateLimiter\Exception\ReserveNotSupportedException;
use Symfony\Component\RateLimiter\Policy\NoLimiter;
use Symfony\Component\RateLimiter\RateLimiterFactory;

require_once '/usr/share/php/Symfony/Component/RateLimiter/autoload.php';

/** Symfony's contract, kept by the engine. */
final class LimiterTest extends TestCase
{
    private const BUCKET = [
        'policy' => 'token_bucket', 'limit' => 5, 'rate' => ['interval' => '10 seconds', 'amount' => 4],
    ];
    private const FIXED = ['policy' => 'fixed_window', 'limit' => 2, 'interval' => '1 minute'];
    private const SLIDING = ['policy' => 'sliding_window', 'limit' => 2, 'interval' => '1 minute'];

    private Store $store;

    protected function setUp(): void
    {
        $this->store = Store::fake();
    }

    public function testWhatIsThereIsAccepted(): void
    {
        $limit = self::factory(self::BUCKET)->create('k')->consume(3);
        self::assertTrue($limit->isAccepted());
        self::assertSame([2, 5], [$limit->getRemainingTokens(), $limit->getLimit()]);
        self::assertSame($limit, $limit->ensureAccepted());
        self::assertEqualsWithDelta(0.0, self::inSeconds($limit->getRetryAfter()), 1.0);
        self::assertEqualsWithDelta(7.5, self::inSeconds($limit->getResetAt()), 1.0);
        self::assertSame('2', $limit->headers()['X-RateLimit-Remaining']);
        self::assertSame('2', $limit->headers(HeaderStyle::Laravel)['X-RateLimit-Remaining']);
    }

    public function testWhatIsNotIsRefusedUntilExactlyThen(): void
    {
        $limiter = self::factory(self::BUCKET)->create('k');
        $limiter->consume(5);
        $before = microtime(true);
        $refused = $limiter->consume(1);
        $after = microtime(true);
        self::assertFalse($refused->isAccepted());
        self::assertSame(2.5, $refused->decision->retryAfter);
        $time = (float) $refused->getRetryAfter()->format('U.u');
        self::assertGreaterThanOrEqual($before + 2.5 - 1e-5, $time);
        self::assertLessThanOrEqual($after + 2.5 + 1e-5, $time);
        self::assertSame('3', $refused->headers()['Retry-After']);
        $this->store->advance(2.499999);
        self::assertFalse($limiter->consume()->isAccepted());
        $this->store->advance(0.000001);
        self::assertTrue($limiter->consume()->isAccepted());
        $this->expectException(RateLimitExceededException::class);
        $refused->ensureAccepted();
    }

    public function testLookingTakesNothingAndTellsWhenTheNextIsThere(): void
    {
        foreach ([self::BUCKET, self::FIXED, self::SLIDING] as $config) {
            $limiter = self::factory($config)->create($config['policy']);
            $limiter->consume($config['limit']);
            $look = $limiter->consume(0);
            self::assertTrue($look->isAccepted());
            self::assertSame(0, $look->getRemainingTokens());
            self::assertGreaterThan(2.0, self::inSeconds($look->getRetryAfter()));
        }
    }

    public function testABookingSaysWhenToAct(): void
    {
        $limiter = self::factory(self::BUCKET)->create('k');
        self::assertEqualsWithDelta(0.0, $limiter->reserve(5)->getWaitDuration(), 0.5);
        $later = $limiter->reserve(2);
        self::assertEqualsWithDelta(5.0, $later->getWaitDuration(), 0.5);
        self::assertEqualsWithDelta(5.0, $later->getTimeToAct() - microtime(true), 0.5);
        self::assertFalse($later->getRateLimit()->isAccepted());
        self::assertEqualsWithDelta(5.0, self::inSeconds($later->getRateLimit()->getRetryAfter()), 0.5);
        try {
            $limiter->reserve(2, maxTime: 9.9);
            self::fail('it was booked');
        } catch (MaxWaitDurationExceededException $tooLong) {
            self::assertSame('It would take 10.000 seconds, more than the 9.900 allowed.', $tooLong->getMessage());
            self::assertFalse($tooLong->getRateLimit()->isAccepted());
            self::assertEqualsWithDelta(10.0, self::inSeconds($tooLong->getRateLimit()->getRetryAfter()), 0.5);
        }
        self::assertEqualsWithDelta(10.0, $limiter->reserve(2, maxTime: 10)->getWaitDuration(), 0.5);
    }

    /** @dataProvider windows */
    public function testWindowsCannotBeBooked(array $config): void
    {
        $this->expectException(ReserveNotSupportedException::class);
        self::factory($config)->create('k')->reserve();
    }

    public static function windows(): iterable
    {
        yield 'fixed' => [self::FIXED];
        yield 'sliding' => [self::SLIDING];
    }

    /** @dataProvider amounts */
    public function testMoreThanThereCanEverBeIsAMistake(int $tokens): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->expectExceptionMessage("{$tokens} tokens cannot be had from a rate limiter of 2; ask for 0 to 2");
        self::factory(self::FIXED)->create('k')->consume($tokens);
    }

    public static function amounts(): iterable
    {
        yield [3];
        yield [-1];
    }

    public function testALimitOfZeroRefuses(): void
    {
        $refused = self::factory(['limit' => 0] + self::FIXED)->create('k')->consume();
        self::assertFalse($refused->isAccepted());
        self::assertGreaterThan(86_400, self::inSeconds($refused->getRetryAfter()));
        self::assertArrayNotHasKey('Retry-After', $refused->headers());
    }

    public function testNoLimitIsNone(): void
    {
        $limiter = self::factory(['policy' => 'no_limit'])->create('k');
        self::assertTrue($limiter->consume(1_000_000)->isAccepted());
        self::assertSame(PHP_INT_MAX, $limiter->consume()->getRemainingTokens());
        self::assertSame(0.0, round($limiter->reserve()->getWaitDuration()));
        $limiter->reset();
    }

    public function testKeysAndLimitersAreToldApart(): void
    {
        $first = self::factory(self::FIXED, 'a');
        $first->create('b-c')->consume(2);
        self::assertFalse($first->create('b-c')->consume()->isAccepted());
        foreach (['b-C', null, 'josé', 'jose'] as $key) {
            self::assertTrue($first->create($key)->consume(2)->isAccepted());
        }
        self::assertTrue(self::factory(self::FIXED, 'a-b')->create('c')->consume(2)->isAccepted());
    }

    public function testAResetForgets(): void
    {
        $limiter = self::factory(self::SLIDING)->create('k');
        $limiter->consume(2);
        $limiter->reset();
        self::assertTrue($limiter->consume(2)->isAccepted());
    }

    public function testAMonthIsAsLongInFebruary(): void
    {
        $limiter = self::factory(['interval' => '1 month'] + self::FIXED)->create('k');
        $limiter->consume(2);
        self::assertSame(31 * 86_400.0, $limiter->consume()->decision->retryAfter);
    }

    public function testACompoundIsOneDecision(): void
    {
        $one = self::factory(self::FIXED, 'one')->create('k');
        $other = self::factory(self::BUCKET, 'other')->create('k');
        $both = new CompoundLimiter($one, $other);
        self::assertSame(0, $both->consume(2)->getRemainingTokens());
        self::assertFalse($both->consume()->isAccepted());
        self::assertSame(3, $other->consume(0)->getRemainingTokens());
        self::assertSame(0, $both->consume(0)->getRemainingTokens());
        $both->reset();
        $taken = $both->consume(2);
        $both->refund($taken);
        self::assertSame([2, 5], [$one->consume(0)->getRemainingTokens(), $other->consume(0)->getRemainingTokens()]);
        $this->expectException(ReserveNotSupportedException::class);
        $both->reserve();
    }

    public function testACompoundFactoryMakesThem(): void
    {
        $factories = [self::factory(self::FIXED, 'one'), self::factory(self::BUCKET, 'other')];
        (new CompoundLimiterFactory($factories))->create('k')->consume(2);
        self::assertFalse(self::factory(self::FIXED, 'one')->create('k')->consume()->isAccepted());
    }

    public function testACompoundOfOthersIsAMistake(): void
    {
        $this->expectException(\LogicException::class);
        $this->expectExceptionMessage('A compound limiter takes one or more limiters of ' . LimiterFactory::class);
        new CompoundLimiter(new NoLimiter());
    }

    /** @dataProvider mistakes */
    public function testAConfigurationThatIsNoneSaysSo(array $config, string $message): void
    {
        $this->expectException(\LogicException::class);
        $this->expectExceptionMessage("The rate limiter \"api\": {$message}");
        self::factory($config, 'api')->create();
    }

    public static function mistakes(): iterable
    {
        yield [['policy' => 'gcra', 'limit' => 1], '"policy" must be'];
        yield [['policy' => 'fixed_window', 'interval' => '1 minute'], '"limit" must be a whole number.'];
        yield [['policy' => 'fixed_window', 'limit' => 1], '"interval" must be an interval such as "15 minutes".'];
        yield [['policy' => 'sliding_window', 'limit' => 1, 'interval' => 'soon'], '"interval" must be'];
        yield [['policy' => 'sliding_window', 'limit' => 1, 'interval' => '-5 minutes'], '"interval" must be'];
        yield [['policy' => 'token_bucket', 'limit' => 1], '"rate.interval" must be'];
    }

    public function testAnIdThatIsNoNameOfOursLimitsTheSame(): void
    {
        $limiter = self::factory(self::FIXED, '3 pro Minute, für alle')->create('k');
        self::assertSame('', $limiter->consume(2)->decision->policy);
        self::assertFalse($limiter->consume()->isAccepted());
        self::factory(self::FIXED, '3 a')->create('b-c')->consume(2);
        self::assertTrue(self::factory(self::FIXED, '3 a-b')->create('c')->consume()->isAccepted());
    }

    public function testABundleThatComesTooLateLeavesSymfonysClassAlone(): void
    {
        require_once '/usr/share/php/Symfony/Component/HttpKernel/autoload.php';
        self::assertTrue(class_exists(RateLimiterFactory::class));
        new SluiceBundle();
        self::assertSame(RateLimiterFactory::class, (new \ReflectionClass(RateLimiterFactory::class))->getName());
    }

    public function testAStoreThatIsGoneIsAFaultOnlyUnderThatPolicy(): void
    {
        $limiter = fn (Failure $failure) => new EngineLimiter(
            new Limiter('redis://127.0.0.1:1'),
            Limit::fixedWindow(1, 60)->onFailure($failure),
            'k',
            most: 1,
            books: false,
        );
        self::assertInstanceOf(EngineRateLimit::class, $limiter(Failure::Allow)->consume());
        $this->expectException(StoreException::class);
        $limiter(Failure::Throw)->consume();
    }

    /** @param array<string, mixed> $config */
    private static function factory(array $config, string $id = 'test'): LimiterFactory
    {
        return new LimiterFactory($config + ['id' => $id], fn () => new Limiter());
    }

    private static function inSeconds(\DateTimeImmutable $time): float
    {
        return (float) $time->format('U.u') - microtime(true);
    }
}
