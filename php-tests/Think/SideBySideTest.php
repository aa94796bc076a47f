<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\ThinkApp;

/**
 * The same application and the same requests: limited by think-throttle's own
 * middleware; by this one, put in its place by one line of configuration; and by
 * this one with think-throttle removed.
 */
final class SideBySideTest extends TestCase
{
    private const OURS = ['config/sluice.php' => "<?php return ['drop_in' => true];"];

    /** Scenarios of attributes, which think-throttle has from 3.0 on. */
    private const ATTRIBUTES = ['attribute', 'several attributes', 'key by a static method'];

    /** Scenarios in which nobody is limited. */
    private const UNLIMITED = ['unlimited', 'nobody', 'exempt', 'a POST where GET is limited'];

    public function testTheSameAnswers(): void
    {
        if (!ThinkApp::isThere()) {
            $this->expectNotToPerformAssertions();
            return;
        }
        $theirs = ThinkApp::make()->serve();
        $ours = ThinkApp::make(self::OURS)->serve();
        $alone = ThinkApp::make(self::OURS, withThrottle: false)->serve();
        foreach (self::scenarios() as $name => $requests) {
            if (in_array($name, self::ATTRIBUTES, true) && !$theirs->hasAttributes()) {
                continue;
            }
            foreach ($requests as $number => [$method, $target, $ip]) {
                $their = $theirs->request($method, $target, [], '', $ip);
                foreach (['with think-throttle' => $ours, 'without it' => $alone] as $which => $app) {
                    $at = "{$name}, request {$number}, {$which}";
                    self::compare($name, $their, $app->request($method, $target, [], '', $ip), $at);
                }
            }
        }
    }

    private static function compare(string $name, HttpResponse $their, HttpResponse $our, string $at): void
    {
        if ($their->status === 500) {
            // Version 1.3 breaks under strict types, and what follows 3.0 gives such
            // a closure another object than its page says. Ours goes on.
            self::assertContains($name, ['token', 'leaky', 'a closure without one'], $at);
            self::assertContains($our->status, [200, 429], $at);
            return;
        }
        self::assertSame($their->status, $our->status, "{$at}: {$their->body} | {$our->body}");
        // How many seconds depends on where the clock stands in their window.
        $text = static fn (HttpResponse $response): string => preg_replace('/\d+/', 'N', $response->body);
        self::assertSame($text($their), $text($our), $at);
        self::assertSame($their->headers['content-type'], $our->headers['content-type'], $at);
        $refused = isset($their->headers['retry-after']);
        if ($refused) {
            self::compareRefusals($name, $their, $our, $at);
        } elseif (($their->headers['x-rate-limit-limit'] ?? null) === '0') {
            // Theirs says "0 of 0" where nothing is limited, and what follows 3.0 also
            // wherever an action has no attribute. Ours says nothing, or what is so.
            $isLimited = !in_array($name, self::UNLIMITED, true);
            self::assertSame($isLimited, isset($our->headers['x-rate-limit-limit']), $at);
        } elseif (isset($their->headers['x-rate-limit-limit'])) {
            self::compareAllowed($name, $their, $our, $at);
        } else {
            self::assertArrayNotHasKey('x-rate-limit-limit', $our->headers, $at);
            self::assertArrayNotHasKey('retry-after', $our->headers, $at);
        }
    }

    private static function compareRefusals(string $name, HttpResponse $their, HttpResponse $our, string $at): void
    {
        if ($name === 'zero') {
            // It never passes: theirs says to try again when the minute is over.
            self::assertArrayNotHasKey('retry-after', $our->headers, $at);
            return;
        }
        self::assertGreaterThanOrEqual(1, (int) $our->headers['retry-after'], $at);
        if (in_array($name, ['slider', 'token', 'leaky', 'custom'], true)) {
            // Not aligned to the clock, so they agree, theirs a second later at most.
            self::assertEqualsWithDelta((int) $their->headers['retry-after'], (int) $our->headers['retry-after'], 2, $at);
        }
        // What theirs does not tell on a refusal.
        self::assertSame($name !== 'custom', isset($our->headers['x-rate-limit-limit']), $at);
        self::assertSame('0', $our->headers['x-rate-limit-remaining'] ?? '0', $at);
    }

    private static function compareAllowed(string $name, HttpResponse $their, HttpResponse $our, string $at): void
    {
        $number = static fn (HttpResponse $response, string $which): int
            => (int) $response->headers["x-rate-limit-{$which}"];
        match ($name) {
            // The driver's own words.
            'custom' => self::assertSame($number($their, 'remaining'), $number($our, 'remaining'), $at),
            // Theirs lets one through at a time, and tells the whole rate.
            'leaky' => self::assertSame([1, 0], [$number($our, 'limit'), $number($our, 'remaining')], $at),
            // Theirs tells of the last one, ours of the one with least left.
            'several attributes' => self::assertSame([1, 0], [$number($our, 'limit'), $number($our, 'remaining')], $at),
            default => self::assertSame(
                // Theirs does not count the request itself.
                [$number($their, 'limit'), max(0, $number($their, 'remaining') - 1)],
                [$number($our, 'limit'), $number($our, 'remaining')],
                $at,
            ),
        };
        // Theirs names the end of a whole period from now; a bucket is full again before that.
        self::assertLessThanOrEqual($number($their, 'reset') + 2, $number($our, 'reset'), $at);
        self::assertGreaterThan(time(), $number($our, 'reset'), $at);
    }

    /** @return array<string, list<array{string, string, string}>> requests: method, target, client's address */
    private static function scenarios(): array
    {
        $times = static fn (int $times, string $target, string $method = 'GET', string $ip = '192.0.2.1'): array
            => array_fill(0, $times, [$method, $target, $ip]);
        $scenarios = [];
        $routes = [
            'rate', 'period', 'zero', 'unlimited', 'nobody', 'exempt', 'get-only', 'all-methods', 'code', 'text',
            'response', 'silent', 'missing', 'slider', 'token', 'leaky', 'custom',
        ];
        foreach ($routes as $route) {
            $scenarios[$route] = [...$times(3, "/{$route}"), ...$times(1, "/{$route}", ip: '192.0.2.99')];
        }
        return $scenarios + [
            'a HEAD request' => [...$times(1, '/rate', 'HEAD'), ...$times(3, '/period', 'HEAD', '192.0.2.3')],
            'a POST where GET is limited' => $times(3, '/get-only', 'POST'),
            'a POST where all are' => $times(3, '/all-methods', 'POST', '192.0.2.2'),
            'a closure with a type' => [...$times(2, '/typed?user=a'), ...$times(1, '/typed?user=b')],
            'a closure without one' => [...$times(2, '/untyped?user=a'), ...$times(1, '/untyped?user=b')],
            'controller and action' => [...$times(2, '/place/index'), ...$times(2, '/place/item')],
            'attribute' => $times(3, '/coupon'),
            'several attributes' => [
                ...$times(2, '/coupon/take'),
                ...$times(1, '/coupon/take', ip: '192.0.2.2'),
                ...$times(1, '/coupon/take', ip: '192.0.2.3'),
                ...$times(1, '/coupon/take', ip: '192.0.2.4'),
            ],
            'key by a static method' => [...$times(2, '/coupon/sms?phone=1'), ...$times(1, '/coupon/sms?phone=2')],
            'no middleware' => $times(1, '/plain'),
        ];
    }
}
