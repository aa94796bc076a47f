<?php

declare(strict_types=1);

namespace Sluice\Tests\Testing;

use PHPUnit\Framework\AssertionFailedError;
use Sluice\DeniedException;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\Testing\FakesLimits;
use Sluice\Testing\FollowingLimiter;
use Sluice\Testing\SluiceTest;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;

/** The help for tests of applications: without a framework, and with Carbon. */
final class SluiceTestTest extends TestCase
{
    protected function tearDown(): void
    {
        SluiceTest::restore();
        parent::tearDown();
    }

    public function testTimeStandsStillUntilItIsMoved(): void
    {
        SluiceTest::fake();
        $limiter = new Limiter();
        $ask = static fn (): bool => $limiter->allow('k', '2/m');
        SluiceTest::assertAllowedTimes(2, $ask);
        SluiceTest::advance(59.999_999);
        SluiceTest::assertLimited($ask);
        SluiceTest::advance(0.000_001);
        SluiceTest::assertAllowed($ask);
        SluiceTest::assertRemaining(1, 'k', '2/m');
    }

    public function testAWaitIsExact(): void
    {
        SluiceTest::fake();
        $limiter = new Limiter();
        $ask = static fn (): bool => $limiter->allow('k', Limit::tokenBucket(1, 3));
        SluiceTest::assertAllowed($ask);
        SluiceTest::assertAllowedAfter(0.333_334, $ask);
        foreach ([0.3, 0.4] as $wrong) {
            SluiceTest::fake();
            $ask();
            self::assertFails(static fn () => SluiceTest::assertAllowedAfter($wrong, $ask));
        }
    }

    /** @dataProvider refusals */
    public function testKnowsARefusalInEveryShape(\Closure $refused, \Closure $passed): void
    {
        SluiceTest::fake();
        SluiceTest::assertLimited($refused);
        SluiceTest::assertAllowed($passed);
        self::assertFails(static fn () => SluiceTest::assertLimited($passed));
        self::assertFails(static fn () => SluiceTest::assertAllowed($refused));
    }

    public static function refusals(): iterable
    {
        $response = static fn (int $status): object => new class ($status) {
            public function __construct(private int $status)
            {
            }

            public function getStatusCode(): int
            {
                return $this->status;
            }
        };
        $limiter = new Limiter();
        yield 'a bool' => [static fn () => false, static fn () => true];
        yield 'a decision' => [
            static fn () => $limiter->attempt('k', Limit::deny()),
            static fn () => $limiter->attempt('k', Limit::none()),
        ];
        yield 'a response' => [static fn () => $response(429), static fn () => $response(200)];
        yield 'another error' => [static fn () => $response(429), static fn () => $response(503)];
        yield 'an exception of the extension' => [
            static fn () => $limiter->run('k', Limit::concurrency(0), static fn () => 1),
            static fn () => $limiter->run('k', Limit::concurrency(1), static fn () => null),
        ];
        yield 'an exception of a framework' => [
            static fn () => throw new class extends \RuntimeException {
                public function getStatusCode(): int
                {
                    return 429;
                }
            },
            static fn () => null,
        ];
    }

    public function testAnotherExceptionIsTheTests(): void
    {
        SluiceTest::fake();
        $this->expectExceptionMessage('not a refusal');
        SluiceTest::assertLimited(static fn () => throw new \RuntimeException('not a refusal'));
    }

    public function testAssertAllowedTimesIsExact(): void
    {
        $limiter = new Limiter();
        foreach ([1, 3] as $wrong) {
            SluiceTest::fake();
            self::assertFails(static fn () => SluiceTest::assertAllowedTimes($wrong, static fn () => $limiter->allow('k', '2/m')));
        }
    }

    public function testRestoreBringsTheRealStoreBack(): void
    {
        SluiceTest::fake(1_700_000_000.0);
        self::assertSame(Source::Memory, (new Limiter())->attempt('k', '1/m')->source);
        SluiceTest::restore();
        self::assertSame(Source::SharedMemory, (new Limiter())->peek(self::freshKey(), '1/m')->source);
        $this->expectExceptionMessage('call SluiceTest::fake() first');
        SluiceTest::advance(1);
    }

    public function testTheTraitFakesAndRestores(): void
    {
        $test = new class {
            use FakesLimits;
        };
        $test->fakeLimits();
        self::assertSame(Source::Memory, (new Limiter())->attempt('k', '1/m')->source);
        $test->restoreLimits();
        self::assertSame(Source::SharedMemory, (new Limiter())->peek(self::freshKey(), '1/m')->source);
    }

    public function testAFollowingLimiterIsTheLimiterInEverything(): void
    {
        $following = new FollowingLimiter(new Limiter(Store::memory()));
        self::assertTrue($following->allow('k', '2/m'));
        self::assertSame(0, $following->attempt('k', '2/m')->remaining);
        self::assertFalse($following->peek('k', '2/m')->allowed);
        $following->reset('k', '2/m');
        self::assertSame(1, ($decision = $following->attemptAll(Limit::parse('2/m')->by('k')))->remaining);
        $following->refund($decision);
        self::assertSame(2, $following->peek('k', '2/m')->remaining);
        self::assertSame(0, $following->charge('k', '2/m', 3)->remaining);
        self::assertTrue($following->reserve('b', '1/s burst 1')->allowed);
        self::assertFalse($following->wait('b', '1/s burst 1', maxWait: 0.0)->allowed);
        $following->acquire('c', '1 concurrent')->release();
        self::assertSame('done', $following->run('c', '1 concurrent', static fn () => 'done'));
    }

    public function testFollowsCarbonAndCarbonFollows(): void
    {
        $result = PhpProcess::with()->loading('mbstring', 'ctype', 'iconv', 'tokenizer', 'dom', 'xml', 'xmlwriter', 'phar')->code(
            'require "/usr/share/php/Carbon/autoload.php"; require "/usr/share/php/PHPUnit/Autoload.php";'
            . 'require ' . var_export(dirname(__DIR__, 2) . '/php/src/Testing/SluiceTest.php', true) . ';' . <<<'PHP'

            use Carbon\{Carbon, CarbonImmutable};
            use Sluice\{Limit, Limiter};
            use Sluice\Testing\SluiceTest;

            $limiter = new Limiter();
            $left = function () use ($limiter) {
                SluiceTest::follow();
                return $limiter->peek('k', Limit::tokenBucket(10, 1))->remaining;
            };
            Carbon::setTestNow('2026-03-01 12:00:00');
            CarbonImmutable::setTestNow('2026-03-01 12:00:00');
            SluiceTest::fake();
            $limiter->attempt('k', Limit::tokenBucket(10, 1), 10);
            $seen = [$left(), (int) $limiter->attempt('k', Limit::tokenBucket(10, 1))->headers()['X-RateLimit-Reset'] - Carbon::now()->timestamp];
            Carbon::setTestNow(Carbon::now()->addSeconds(3));
            $seen[] = $left();
            SluiceTest::advance(2.5);
            $seen[] = $left();
            $seen[] = [(string) Carbon::now(), (string) CarbonImmutable::now()];
            Carbon::setTestNow(Carbon::now()->addMilliseconds(500));
            $seen[] = $left();
            // Back in time nothing is given out, and the way ahead counts from there.
            Carbon::setTestNow(Carbon::now()->subHour());
            $seen[] = $left();
            Carbon::setTestNow(Carbon::now()->addSeconds(1));
            $seen[] = $left();
            SluiceTest::restore();
            $seen[] = Carbon::hasTestNow() || CarbonImmutable::hasTestNow();
            SluiceTest::fake();
            $seen[] = Carbon::hasTestNow() && (string) Carbon::now() === (string) CarbonImmutable::now();
            echo json_encode($seen);
            PHP,
        );
        self::assertSame([0, 10, 3, 5, ['2026-03-01 12:00:05', '2026-03-01 12:00:05'], 6, 6, 7, false, true], $result->json());
    }

    private static function assertFails(callable $assertion): void
    {
        try {
            $assertion();
        } catch (AssertionFailedError) {
            return;
        }
        self::fail('It should have failed.');
    }
}
