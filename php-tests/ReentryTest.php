<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** PHP code that runs in the middle of a call may make calls of its own. */
final class ReentryTest extends TestCase
{
    /** @var array<string, callable> */
    private array $weak;

    protected function setUp(): void
    {
        $this->weak = require __DIR__ . '/Fixtures/weak.php';
    }

    public function testAKeyThatAsksTheSameLimiterWhileItBecomesText(): void
    {
        $limiter = new TokenBucketLimiter(RedisServer::start()->dsn());
        $key = self::textThat(fn () => $limiter->allow('k', 5, 1 / 3600));
        $decision = $this->weak['attempt']($limiter, $key, 5, 1 / 3600);
        self::assertSame([Source::Redis, 'k', 3], [$decision->source, $decision->key, $decision->remaining]);
    }

    public function testAKeyThatGivesTheLimiterAnotherStore(): void
    {
        $limiter = new TokenBucketLimiter(Store::memory());
        $key = self::textThat(fn () => $limiter->__construct(Store::memory()));
        self::assertSame(4, $this->weak['attempt']($limiter, $key, 5, 1)->remaining);
    }

    public function testAKeyThatFakesTheDefaultStore(): void
    {
        $limiter = new TokenBucketLimiter();
        $key = self::textThat(fn () => Store::fake());
        self::assertSame(Source::Memory, $this->weak['attempt']($limiter, $key, 5, 1)->source);
    }

    public function testAnErrorHandlerThatAsksTheSameLimiter(): void
    {
        $limiter = new TokenBucketLimiter(Store::memory());
        set_error_handler(fn () => $limiter->allow('', 5, 1 / 3600), E_DEPRECATED);
        try {
            $decision = $this->weak['attempt']($limiter, null, 5, 1 / 3600);
        } finally {
            restore_error_handler();
        }
        self::assertSame(3, $decision->remaining);
    }

    public function testATimeThatThrows(): void
    {
        $time = new class () extends \DateTimeImmutable {
            public function format(string $format): string
            {
                throw new \LogicException('no time');
            }
        };
        $this->expectException(\LogicException::class);
        $this->expectExceptionMessage('no time');
        Store::fake($time);
    }

    private static function textThat(callable $do): object
    {
        return new class ($do) {
            public function __construct(private readonly mixed $do)
            {
            }

            public function __toString(): string
            {
                ($this->do)();
                return 'k';
            }
        };
    }
}
