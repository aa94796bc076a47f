<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Decision;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** A decision as a value: every property, as an array, and as JSON. */
final class DecisionTest extends TestCase
{
    private TokenBucketLimiter $limiter;

    protected function setUp(): void
    {
        Store::fake(1_700_000_000.0);
        $this->limiter = new TokenBucketLimiter();
    }

    public function testAnAdmission(): void
    {
        $decision = $this->limiter->attempt('k', 10, 4, requested: 3);
        self::assertSame(
            [
                'allowed' => true,
                'limit' => 10,
                'remaining' => 7,
                'retryAfter' => 0.0,
                'resetAfter' => 0.75,
                'delay' => 0.0,
                'wouldDeny' => false,
                'key' => 'k',
                'policy' => '',
                'source' => Source::Memory,
                'permit' => null,
                'parts' => [],
            ],
            get_object_vars($decision),
        );
    }

    public function testARefusal(): void
    {
        $this->limiter->attempt('k', 10, 4, requested: 9);
        $decision = $this->limiter->attempt('k', 10, 4, requested: 3);
        self::assertSame(
            [
                'allowed' => false,
                'limit' => 10,
                'remaining' => 1,
                'retryAfter' => 0.5,
                'resetAfter' => 2.25,
                'delay' => 0.0,
                'wouldDeny' => false,
                'key' => 'k',
                'policy' => '',
                'source' => Source::Memory,
                'permit' => null,
                'parts' => [],
            ],
            get_object_vars($decision),
        );
    }

    /** @dataProvider decisions */
    public function testAsAnArrayItHasEveryPropertyAndTheSourceAsText(Decision $decision): void
    {
        $expected = get_object_vars($decision);
        $expected['source'] = $decision->source->value;
        $expected['permit'] = false;
        self::assertSame($expected, $decision->toArray());
    }

    /** @dataProvider decisions */
    public function testItsJsonIsThatOfTheArray(Decision $decision): void
    {
        self::assertSame($decision->toArray(), $decision->jsonSerialize());
        self::assertSame(json_encode($decision->toArray()), json_encode($decision));
    }

    public static function decisions(): iterable
    {
        $limiter = new TokenBucketLimiter(Store::memory());
        yield 'an admission' => [$limiter->attempt('k', 1, 1)];
        yield 'a refusal' => [$limiter->attempt('k', 1, 1)];
        yield 'a refusal for ever' => [$limiter->attempt('k', 1, 1, requested: 2)];
    }

    public function testAKeyThatIsNoTextNeedsAFlagToBecomeJson(): void
    {
        $decision = $this->limiter->attempt("\xff", 1, 1);
        self::assertFalse(json_encode($decision));
        self::assertStringContainsString('"key":"\ufffd"', json_encode($decision, JSON_INVALID_UTF8_SUBSTITUTE));
    }

    public function testAnArrayTakenFromItIsACopy(): void
    {
        $decision = $this->limiter->attempt('k', 10, 4);
        $array = $decision->toArray();
        $array['key'] .= ' changed';
        $array['parts'][] = 'more';
        self::assertSame('k', $decision->key);
        self::assertSame([], $decision->parts);
    }

    public function testItOutlivesTheLimiterAndTheStore(): void
    {
        $decision = (new TokenBucketLimiter(Store::memory()))->attempt(str_repeat('k', 100), 1, 1);
        gc_collect_cycles();
        self::assertSame(str_repeat('k', 100), $decision->key);
        self::assertSame('1', $decision->headers()['X-RateLimit-Limit']);
    }
}
