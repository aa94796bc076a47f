<?php

declare(strict_types=1);

namespace Sluice\Tests\Psr15;

use Sluice\Tests\Support\Checkout;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\WebServer;

/** Slim over HTTP: version 3 from Debian through a bridge, version 4 by SLIM_DIR. */
final class SlimTest extends TestCase
{
    private string $journal;
    private WebServer $web;

    public static function hosts(): iterable
    {
        yield 'Slim 3' => ['slim3.php'];
        yield 'Slim 4' => ['slim4.php'];
    }

    /** @dataProvider hosts */
    public function testTheThirdOfTwoIsRefusedAndToldWhenToComeBack(string $host): void
    {
        if (!$this->serve($host)) {
            return;
        }
        foreach ([1, 0] as $left) {
            $served = $this->web->get('/items/7');
            self::assertSame([200, 'served'], [$served->status, $served->body]);
            self::assertSame((string) $left, $served->headers['x-ratelimit-remaining']);
            self::assertStringContainsString("r={$left}", $served->headers['ratelimit']);
        }
        $refused = $this->web->get('/items/8');   // another id is no way around it
        self::assertSame(429, $refused->status);
        self::assertEqualsWithDelta(3600, (int) $refused->headers['retry-after'], 10);
        self::assertSame('application/problem+json', $refused->headers['content-type']);
        self::assertEqualsWithDelta(3600, $refused->json()['retryAfter'], 10);
        self::assertSame(
            [429, ['items'], 'https://iana.org/assignments/http-problem-types#quota-exceeded'],
            [$refused->json()['status'], $refused->json()['violated-policies'], $refused->json()['type']],
        );
        self::assertSame(429, $this->web->send('POST', '/items/7')->status, 'nor is another method of the route');
        self::assertSame(200, $this->web->get('/other/7')->status, 'another route has its own');
        self::assertSame(200, $this->web->get('/items/7', ['X-User' => '42'])->status, 'and so has a user');
        self::assertArrayNotHasKey('x-ratelimit-limit', $this->web->get('/ping')->headers);

        [$message, $context] = $this->journal()[0];
        self::assertSame('Refused by a rate limit', $message);
        self::assertSame(
            ['127.0.0.1', 'GET|POST /items/{id}', 0, 2, '/items/8', 'items'],
            array_map(fn (string $field) => $context[$field], ['ip', 'route', 'remaining', 'capacity', 'uri', 'policy']),
        );
    }

    /** @dataProvider hosts */
    public function testAnAccountIsLimitedFromEverywhereAndAnAddressForAllAccounts(string $host): void
    {
        if (!$this->serve($host)) {
            return;
        }
        $login = fn (string $email, string $from): int => $this->web->send(
            'POST',
            '/login',
            ['Content-Type' => 'application/x-www-form-urlencoded', 'X-Forwarded-For' => $from],
            'email=' . urlencode($email),
        )->status;
        self::assertSame(
            [200, 200, 429],
            array_map(fn ($from) => $login('josé@example.com', $from), ['203.0.113.1', '203.0.113.2', '203.0.113.3']),
        );
        self::assertSame(200, $login('jose@example.com', '203.0.113.4'));
        $statuses = array_map(fn (int $n) => $login("user{$n}@example.com", '203.0.113.9'), range(1, 7));
        self::assertSame([200, 200, 200, 200, 200, 429, 429], $statuses);
    }

    /** @dataProvider hosts */
    public function testTheAllowListPassesAndIsLogged(string $host): void
    {
        if (!$this->serve($host)) {
            return;
        }
        foreach (range(1, 3) as $ignored) {
            $passed = $this->web->get('/items/7', ['X-Forwarded-For' => '198.51.100.9']);
            self::assertSame(200, $passed->status);
            self::assertArrayNotHasKey('ratelimit', $passed->headers);
        }
        self::assertSame(
            array_fill(0, 3, ['Passed the rate limits by the allow list', 'network 198.51.100.0/24']),
            array_map(fn ($line) => [$line[0], $line[1]['by']], $this->journal()),
        );
    }

    /** @dataProvider hosts */
    public function testSeveralLimitsAreOneDecisionWithTheHeadersThatWereChosen(string $host): void
    {
        if (!$this->serve($host)) {
            return;
        }
        $first = $this->web->get('/orders');
        self::assertSame(['1', '0'], [$first->headers['x-ratelimit-limit'], $first->headers['x-ratelimit-remaining']]);
        self::assertArrayNotHasKey('ratelimit', $first->headers);
    }

    /** @dataProvider hosts */
    public function testWithRedisGoneRequestsAreStillAnswered(string $host): void
    {
        if (!$this->serve($host, 'redis://127.0.0.1:1')) {
            return;
        }
        self::assertSame([200, 200, 429], array_map(fn () => $this->web->get('/items/1')->status, range(1, 3)));
    }

    private function serve(string $host, string $store = ''): bool
    {
        $slim4 = 'the PSR-15 middleware on Slim 4: a directory with vendor/autoload.php';
        if ($host === 'slim4.php' && Checkout::of('SLIM_DIR', $slim4) === null) {
            $this->expectNotToPerformAssertions();
            return false;
        }
        $this->journal = TempDir::make()->write('journal', '');
        $this->web = WebServer::start(
            dirname(__DIR__) . "/Apps/slim/{$host}",
            environment: ['JOURNAL' => $this->journal, 'STORE' => $store],
        );
        return true;
    }

    /** @return list<array{string, array<string, mixed>}> */
    private function journal(): array
    {
        return array_map(fn ($line) => json_decode($line, true), file($this->journal));
    }
}
