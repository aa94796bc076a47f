<?php

declare(strict_types=1);

namespace Sluice\Tests\Guzzle;

use GuzzleHttp\Client;
use GuzzleHttp\Exception\GuzzleException;
use GuzzleHttp\Handler\CurlMultiHandler;
use GuzzleHttp\Handler\StreamHandler;
use GuzzleHttp\HandlerStack;
use GuzzleHttp\Pool;
use GuzzleHttp\Psr7\Request;
use Illuminate\Http\Client\Factory;
use Sluice\Guzzle\OutboundLimiter;
use Sluice\Guzzle\OutboundLimitException;
use Sluice\Store;
use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\WebServer;

/** A real partner, real handlers, and the workers of a real php-fpm. */
final class OverHttpTest extends TestCase
{
    private string $journal;
    private WebServer $partner;
    private int $reported;

    protected function setUp(): void
    {
        // Debian's Guzzle and Laravel are older than its PHP.
        $this->reported = error_reporting(E_ALL & ~E_DEPRECATED);
        $this->journal = TempDir::make()->write('journal', '');
        $this->partner = WebServer::start(
            dirname(__DIR__) . '/Apps/partner/index.php',
            environment: ['JOURNAL' => $this->journal],
        );
    }

    protected function tearDown(): void
    {
        error_reporting($this->reported);
        parent::tearDown();
    }

    public function testParallelRequestsGoOutAtThePaceOfTheQuota(): void
    {
        $limiter = new OutboundLimiter(['127.0.0.1' => '20/s burst 2'], maxWait: 5.0);
        $client = self::client($limiter, new CurlMultiHandler());
        $requests = array_map(fn (int $n) => new Request('GET', $this->partner->url("/{$n}")), range(1, 8));
        $start = microtime(true);
        $served = 0;
        (new Pool($client, $requests, [
            'concurrency' => 8,
            'fulfilled' => function () use (&$served): void {
                $served++;
            },
        ]))->promise()->wait();

        self::assertSame(8, $served);
        $times = array_column($this->journal(), 0);
        sort($times);
        foreach ($times as $number => $time) {
            // Never before its turn; a machine may be as late as it likes.
            self::assertGreaterThanOrEqual(round(($number - 1) / 20, 3), round($time - $start, 3) + 0.001);
        }
    }

    public function testASynchronousRequestWaitsForItsTurn(): void
    {
        $client = self::client(new OutboundLimiter(['127.0.0.1' => '10/s burst 1'], maxWait: 5.0), new StreamHandler());
        $start = microtime(true);
        foreach (range(1, 3) as $number) {
            self::assertSame('served', (string) $client->get($this->partner->url("/{$number}"))->getBody());
        }
        self::assertGreaterThanOrEqual(0.199, microtime(true) - $start);
    }

    public function testARedirectIsARequestToo(): void
    {
        Store::fake();
        $client = self::client(new OutboundLimiter(['127.0.0.1' => '2/h']), new StreamHandler());
        $client->get($this->partner->url('/from?status=302&to=/to'));
        self::assertSame(['/from?status=302&to=/to', '/to'], array_column($this->journal(), 1));
        $this->expectException(OutboundLimitException::class);
        $client->get($this->partner->url('/third'));
    }

    public function testAPartnerThatHangsIsGivenUp(): void
    {
        $limiter = new OutboundLimiter(['127.0.0.1' => '1 concurrent']);
        $client = self::client($limiter, new CurlMultiHandler(), ['timeout' => 0.1]);
        try {
            $client->get($this->partner->url('/?ms=600'));
            self::fail('it answered');
        } catch (GuzzleException $given) {
            self::assertStringContainsString('timed out', $given->getMessage());
        }
        self::assertSame(200, $client->get($this->partner->url('/'), ['timeout' => 30])->getStatusCode());
    }

    public function testOneWorkerIsToldAndAllStayAway(): void
    {
        $pool = FpmPool::start(3);
        $script = dirname(__DIR__) . '/Apps/outbound/index.php';
        $url = $this->partner->url('/?status=429&after=600');
        self::assertSame(429, $pool->get($script, ['url' => $url])->json()[1]);

        $answers = array_map(fn ($answer) => $answer->json(), $pool->getMany(12, 6, $script, ['url' => $url]));
        self::assertGreaterThan(1, count(array_unique(array_column($answers, 0))));
        self::assertSame([null], array_unique(array_column($answers, 1)));
        self::assertGreaterThan(590, min(array_column($answers, 2)));
        self::assertCount(1, $this->journal());
    }

    public function testLaravelsHttpClientKeepsTheQuota(): void
    {
        require_once '/usr/share/php/Illuminate/Http/autoload.php';
        Store::fake();
        $http = fn () => (new Factory())->withMiddleware(new OutboundLimiter(['127.0.0.1' => '2/h']));
        self::assertSame('served', $http()->get($this->partner->url('/1'))->body());
        self::assertSame('served', $http()->post($this->partner->url('/2'), ['a' => 1])->body());
        try {
            $http()->get($this->partner->url('/3'));
            self::fail('it was sent');
        } catch (OutboundLimitException $refused) {
            self::assertSame(3600, $refused->retryAfter());
        }
        self::assertSame(['/1', '/2'], array_column($this->journal(), 1));
    }

    /** @param array<string, mixed> $options */
    private static function client(OutboundLimiter $limiter, callable $handler, array $options = []): Client
    {
        $stack = HandlerStack::create($handler);
        $stack->push($limiter, 'sluice');
        // A busy machine is no partner that hangs.
        return new Client(['handler' => $stack] + $options + ['timeout' => 30, 'connect_timeout' => 30]);
    }

    /** @return list<array{float, string}> when it was asked for what */
    private function journal(): array
    {
        return array_map(
            fn (string $line): array => [(float) explode(' ', $line)[0], explode(' ', $line)[1]],
            file($this->journal, FILE_IGNORE_NEW_LINES),
        );
    }
}
