<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\TestCase;

/** `send()` is all that plain PHP needs: headers and, for a refusal, the response. */
final class SendTest extends TestCase
{
    public function testAnAdmissionSendsHeadersAndNothingElse(): void
    {
        $response = self::answer('$limiter->attempt("k", 100, 20, requested: 30)');
        self::assertSame(200, $response->status);
        self::assertSame('and the page', $response->body);
        self::assertSame(
            [
                'ratelimit-policy' => '"default";q=100;w=5',
                'ratelimit' => '"default";r=70;t=2',
                'x-ratelimit-limit' => '100',
                'x-ratelimit-remaining' => '70',
                'x-ratelimit-reset' => '1700000002',
                'content-type' => 'text/html; charset=UTF-8',
            ],
            self::headers($response),
        );
    }

    public function testARefusalSendsStatusHeadersAndAProblemDocument(): void
    {
        $response = self::answer('$limiter->attempt("k", 10, 4, requested: 7)');
        self::assertSame(429, $response->status);
        self::assertSame('2', $response->headers['retry-after']);
        self::assertSame('0', $response->headers['x-ratelimit-remaining']);
        self::assertSame('application/problem+json', $response->headers['content-type']);
        self::assertSame(
            [
                'type' => 'https://iana.org/assignments/http-problem-types#quota-exceeded',
                'title' => 'Too Many Requests',
                'status' => 429,
                'retryAfter' => 2,
                'violated-policies' => ['default'],
            ],
            $response->json(),
        );
    }

    public function testARefusalForEverDoesNotSayWhenToComeBack(): void
    {
        $response = self::answer('$limiter->attempt("k", 10, 4, requested: 11)');
        self::assertSame(429, $response->status);
        self::assertArrayNotHasKey('retry-after', $response->headers);
        self::assertArrayNotHasKey('retryAfter', $response->json());
    }

    public function testTheDirectiveChoosesTheHeadersThatAreSent(): void
    {
        $response = self::answer('$limiter->attempt("k", 100, 20)', ['sluice.headers' => '']);
        self::assertSame(['content-type' => 'text/html; charset=UTF-8'], self::headers($response));
    }

    public function testAnObservedRefusalIsSentAsAnAdmission(): void
    {
        $response = self::answer('$limiter->attempt("k", 10, 4, requested: 7)', ['sluice.mode' => 'observe']);
        self::assertSame([200, 'and the page'], [$response->status, $response->body]);
        self::assertArrayNotHasKey('retry-after', $response->headers);
    }

    public function testAHeaderThatTheApplicationHasSetIsReplacedNotRepeated(): void
    {
        $response = self::answer('[header("X-RateLimit-Limit: 1"), $limiter->attempt("k", 100, 20)][1]');
        self::assertSame('100', $response->headers['x-ratelimit-limit']);
    }

    /**
     * What a client gets if a page sends this decision, on a bucket that is
     * empty under the numbers of a refusal.
     *
     * @param array<string, string> $ini
     */
    private static function answer(string $decision, array $ini = []): HttpResponse
    {
        $pool = FpmPool::start(1, $ini);
        return $pool->get($pool->script('page.php', <<<PHP
            Sluice\\Store::fake(1_700_000_000.5);
            \$limiter = new Sluice\\TokenBucketLimiter();
            str_contains('{$decision}', '10, 4') && \$limiter->attempt('k', 10, 4, requested: 10);
            \$decision = {$decision};
            \$decision->send();
            echo \$decision->allowed ? 'and the page' : '';
            PHP));
    }

    /** @return array<string, string> without that of PHP itself */
    private static function headers(HttpResponse $response): array
    {
        return array_diff_key($response->headers, ['x-powered-by' => true]);
    }
}
