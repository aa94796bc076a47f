<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** The headers that a decision gives, and how php.ini chooses among them. */
final class DecisionHeadersTest extends TestCase
{
    private Store $store;
    private TokenBucketLimiter $limiter;

    protected function setUp(): void
    {
        $this->store = Store::fake(1_700_000_000.5);
        $this->limiter = new TokenBucketLimiter();
    }

    public function testAnAdmissionTellsWhereTheClientStands(): void
    {
        self::assertSame(
            [
                'RateLimit-Policy' => '"default";q=100;w=5',
                'RateLimit' => '"default";r=70;t=2',
                'X-RateLimit-Limit' => '100',
                'X-RateLimit-Remaining' => '70',
                // 1.5 s after half past: the second in which all is back.
                'X-RateLimit-Reset' => '1700000002',
            ],
            $this->limiter->attempt('k', 100, 20, requested: 30)->headers(),
        );
    }

    public function testARefusalTellsWhenToComeBackToo(): void
    {
        $this->limiter->attempt('k', 10, 4, requested: 10);
        self::assertSame(
            [
                'RateLimit-Policy' => '"default";q=10;w=3',
                'RateLimit' => '"default";r=0;t=3',
                'X-RateLimit-Limit' => '10',
                'X-RateLimit-Remaining' => '0',
                'X-RateLimit-Reset' => '1700000003',
                'Retry-After' => '2',
            ],
            $this->limiter->attempt('k', 10, 4, requested: 7)->headers(),
        );
    }

    public function testRetryAfterIsAtLeastOneSecond(): void
    {
        $this->limiter->attempt('k', 1, 1000);
        $decision = $this->limiter->attempt('k', 1, 1000);
        self::assertSame(0.001, $decision->retryAfter);
        self::assertSame('1', $decision->headers()['Retry-After']);
    }

    public function testRetryAfterIsLeftOutIfTheRequestCanNeverPass(): void
    {
        $headers = $this->limiter->attempt('k', 1, 1, requested: 2)->headers();
        self::assertArrayNotHasKey('Retry-After', $headers);
    }

    public function testTheWindowOfAFixedWindowIsItsLength(): void
    {
        $headers = (new FixedWindowLimiter())->attempt('k', 5, 60)->headers();
        self::assertSame('"default";q=5;w=60', $headers['RateLimit-Policy']);
        self::assertSame('"default";r=4;t=60', $headers['RateLimit']);
        self::assertSame('1700000061', $headers['X-RateLimit-Reset']);
    }

    public function testResetIsTheTimeOfTheDecisionUnderAFakeClock(): void
    {
        $decision = $this->limiter->attempt('k', 1, 1);
        $this->store->advance(1000);
        self::assertSame('1700000002', $decision->headers()['X-RateLimit-Reset']);
    }

    public function testResetIsRealTimeWithoutOne(): void
    {
        Store::restore();
        $before = time();
        $headers = $this->limiter->attempt(self::freshKey(), 60, 1, requested: 60)->headers();
        $after = time();
        self::assertGreaterThanOrEqual($before + 60, (int) $headers['X-RateLimit-Reset']);
        self::assertLessThanOrEqual($after + 61, (int) $headers['X-RateLimit-Reset']);
    }

    /**
     * @dataProvider families
     * @param list<string> $names
     */
    public function testTheDirectiveChoosesTheFamilies(string $families, array $names): void
    {
        ini_set('sluice.headers', $families);
        $this->limiter->allow('k', 1, 1);
        $headers = $this->limiter->attempt('k', 1, 1)->headers();
        self::assertSame([...$names, 'Retry-After'], array_keys($headers));
    }

    public static function families(): iterable
    {
        $ietf = ['RateLimit-Policy', 'RateLimit'];
        $x = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
        yield 'both' => ['ietf,x', [...$ietf, ...$x]];
        yield 'both, the other way round and with a space' => ['x, ietf', [...$ietf, ...$x]];
        yield 'the IETF\'s' => ['ietf', $ietf];
        yield 'those with an X' => ['x', $x];
        yield 'none' => ['', []];
    }
}
