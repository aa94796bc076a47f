<?php

declare(strict_types=1);

namespace Sluice\Tests\Guzzle;

use GuzzleHttp\Client;
use GuzzleHttp\Exception\ClientException;
use GuzzleHttp\Exception\ConnectException;
use GuzzleHttp\Handler\MockHandler;
use GuzzleHttp\HandlerStack;
use GuzzleHttp\Middleware;
use GuzzleHttp\Promise\PromiseInterface;
use GuzzleHttp\Promise\Utils;
use GuzzleHttp\Psr7\Request;
use GuzzleHttp\Psr7\Response;
use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Message\RequestInterface;
use Sluice\Failure;
use Sluice\Guzzle\OutboundLimiter;
use Sluice\Guzzle\OutboundLimitException;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Store;
use Sluice\StoreException;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** What a client may send, whom it keeps away, and what its handler is told. */
final class OutboundLimiterTest extends TestCase
{
    /** @var list<array{host: string, options: array<string, mixed>}> */
    private array $sent = [];

    public function testWithinTheQuotaRequestsGoOut(): void
    {
        Store::fake();
        $client = $this->client(new OutboundLimiter(['partner' => '10/s burst 2']));
        self::assertSame(200, $client->get('http://partner/a')->getStatusCode());
        self::assertSame(200, $client->get('http://partner/b')->getStatusCode());
        self::assertCount(2, $this->sent);
        self::assertArrayNotHasKey('delay', $this->sent[1]['options']);
    }

    public function testBeyondItARequestIsNotSent(): void
    {
        Store::fake();
        $client = $this->client(new OutboundLimiter(['partner' => '1/s burst 1']));
        $client->get('http://partner/');
        $refused = self::refusal($client, 'http://partner/');
        self::assertSame(1, $refused->retryAfter());
        self::assertSame('Not sent to partner: its rate limit is used up, for another 1 s', $refused->getMessage());
        self::assertSame('/', $refused->request->getUri()->getPath());
        self::assertInstanceOf(ClientExceptionInterface::class, $refused);
        self::assertCount(1, $this->sent);
    }

    public function testARequestThatMayWaitIsSentWithADelayAndNoSleep(): void
    {
        Store::fake();
        $client = $this->client(new OutboundLimiter(['partner' => '10/s burst 1'], maxWait: 0.25));
        for ($i = 0; $i < 3; $i++) {
            $client->get('http://partner/');
        }
        self::refusal($client, 'http://partner/');
        self::assertSame([null, 100, 200], array_map(fn ($sent) => $sent['options']['delay'] ?? null, $this->sent));
    }

    public function testTheLaterOfTwoDelaysCounts(): void
    {
        Store::fake();
        $client = $this->client(new OutboundLimiter(['partner' => '10/s burst 1'], maxWait: 1.0));
        $client->get('http://partner/', ['delay' => 40]);
        $client->get('http://partner/', ['delay' => 40]);
        $client->get('http://partner/', ['delay' => 4000]);
        self::assertSame([40, 100, 4000], array_map(fn ($sent) => $sent['options']['delay'], $this->sent));
    }

    public function testTimeoutsAreSetUnlessTheCallerDid(): void
    {
        Store::fake();
        $client = $this->client(new OutboundLimiter(['partner' => '10/s burst 9']));
        $client->get('http://partner/');
        $client->get('http://partner/', ['timeout' => 30]);
        $client->get('http://partner/', ['connect_timeout' => 0]);
        $client->get('http://elsewhere/');
        self::assertSame(
            [[3.0, 1.0], [30, 1.0], [3.0, 0], [null, null]],
            array_map(
                fn ($sent) => [$sent['options']['timeout'] ?? null, $sent['options']['connect_timeout'] ?? null],
                $this->sent,
            ),
        );
    }

    public function testEachHostHasItsOwnQuotaAndOthersNone(): void
    {
        Store::fake();
        $client = $this->client(new OutboundLimiter(['One' => '1/m burst 1', 'two.' => '1/m burst 1']));
        foreach (['http://one/', 'http://two/', 'http://three/', 'http://three/'] as $url) {
            $client->get($url);
        }
        foreach (['http://one/', 'http://ONE/', 'https://one:8443/x', 'http://one./', 'http://two/'] as $url) {
            self::refusal($client, $url);
        }
    }

    public function testAStarStandsForEachHostThatIsNotNamed(): void
    {
        Store::fake();
        $client = $this->client(new OutboundLimiter(['*' => '1/m burst 1', 'free' => []]));
        $client->get('http://one/');
        $client->get('http://two/');
        $client->get('http://free/');
        $client->get('http://free/');
        self::refusal($client, 'http://one/');
        self::refusal($client, 'http://two/');
    }

    public function testAQuotaMayGoByWhatTheRequestSays(): void
    {
        Store::fake();
        $byKey = fn (RequestInterface $request): string => $request->getHeaderLine('X-Api-Key');
        $client = $this->client(new OutboundLimiter(['partner' => '1/m burst 1'], by: $byKey));
        $client->get('http://partner/', ['headers' => ['X-Api-Key' => 'a']]);
        $client->get('http://partner/', ['headers' => ['X-Api-Key' => 'b']]);
        self::refusal($client, 'http://partner/', ['headers' => ['X-Api-Key' => 'a']]);
    }

    public function testOfSeveralLimitsAllOrNoneIsCharged(): void
    {
        $store = Store::fake();
        $client = $this->client(new OutboundLimiter(['partner' => ['3 per day UTC', '1/s burst 1']]));
        $client->get('http://partner/');
        foreach (range(1, 5) as $ignored) {
            self::refusal($client, 'http://partner/');   // by the second, and the day is not charged
        }
        $store->advance(1);
        $client->get('http://partner/');
        $store->advance(1);
        $client->get('http://partner/');
        $store->advance(1);
        self::assertGreaterThan(60, self::refusal($client, 'http://partner/')->retryAfter());
    }

    public function testTwoLimitsOfOneKindAreCountedApart(): void
    {
        $store = Store::fake();
        $client = $this->client(new OutboundLimiter(['partner' => ['10/s burst 1', '3/h burst 3']]));
        foreach (range(1, 3) as $ignored) {
            $client->get('http://partner/');
            $store->advance(0.1);
        }
        self::assertSame(1200, self::refusal($client, 'http://partner/')->retryAfter());
    }

    public function testAPermitIsHeldUntilTheAnswerIsThereWhateverItIs(): void
    {
        $client = $this->client(new OutboundLimiter(['partner' => '1 concurrent']), [
            new Response(200),
            new Response(500),
            new ConnectException('gone', new Request('GET', '/')),
            new Response(200),
            new Response(200),
        ]);
        $client->get('http://partner/');
        $client->get('http://partner/', ['http_errors' => false]);
        try {
            $client->get('http://partner/');
            self::fail('was sent');
        } catch (ConnectException) {
        }
        $client->get('http://partner/');

        $first = $client->getAsync('http://partner/');
        self::refusal($client, 'http://partner/');
        $first->otherwise(fn () => null)->wait();
    }

    public function testAHandlerThatThrowsFreesThePermit(): void
    {
        $limiter = new OutboundLimiter(['partner' => '1 concurrent']);
        foreach (range(1, 2) as $ignored) {
            try {
                $limiter(fn () => throw new \LogicException('broken'))(new Request('GET', 'http://partner/'), []);
                self::fail('nothing was thrown');
            } catch (\LogicException $broken) {
                self::assertSame('broken', $broken->getMessage());
            }
        }
    }

    public function testARetryAfterKeepsAwayEveryoneWhoSharesTheStore(): void
    {
        $dsn = RedisServer::start()->dsn();
        $partner = ['partner' => '10/s burst 20'];
        $one = $this->client(
            new OutboundLimiter($partner, limiter: new Limiter($dsn)),
            [new Response(429, ['Retry-After' => '30'])],
        );
        $other = $this->client(new OutboundLimiter($partner, limiter: new Limiter("{$dsn}&connect_timeout=9s")));
        $other->get('http://partner/');
        try {
            $one->get('http://partner/');
            self::fail('a 429 is an error');
        } catch (ClientException $exception) {
            self::assertSame(429, $exception->getResponse()->getStatusCode());
        }
        self::assertEqualsWithDelta(30, self::refusal($other, 'http://partner/')->retryAfter(), 2);
        // Who may wait so long is booked behind it.
        $patient = $this->client(new OutboundLimiter($partner, maxWait: 60.0, limiter: new Limiter($dsn)));
        $patient->get('http://partner/');
        self::assertEqualsWithDelta(30_000, end($this->sent)['options']['delay'], 3_000);
    }

    /** @dataProvider limitsWithoutAPace */
    public function testLimitsThatCannotBeBookedStayAwayToo(string|array $limits): void
    {
        $store = Store::fake();
        $client = $this->client(
            new OutboundLimiter(['partner' => $limits]),
            [new Response(200), new Response(503, ['Retry-After' => '30']), new Response(200)],
        );
        $client->get('http://partner/');
        $client->get('http://partner/', ['http_errors' => false]);
        $store->advance(29.9);
        self::assertSame(1, self::refusal($client, 'http://partner/')->retryAfter());
        $store->advance(0.1);
        $client->get('http://partner/');
        self::assertCount(3, $this->sent);
    }

    public static function limitsWithoutAPace(): iterable
    {
        yield 'a window' => ['1000/h'];
        yield 'a quota and permits' => [['1000 per day UTC', '5 concurrent']];
    }

    public function testOnlyThePartnerThatAskedForItIsLeftAlone(): void
    {
        Store::fake();
        $client = $this->client(
            new OutboundLimiter(['*' => '10/s burst 20']),
            [new Response(429, ['Retry-After' => '30']), new Response(200)],
        );
        $client->get('http://one/', ['http_errors' => false]);
        $client->get('http://two/');
        self::refusal($client, 'http://one/');
    }

    /** @dataProvider limitsThatHoldBack */
    public function testWhatWasAMistakeCanBeForgotten(string $limit): void
    {
        Store::fake();
        $limiter = new OutboundLimiter(['partner' => $limit, 'other' => $limit]);
        $client = $this->client($limiter, [
            new Response(503, ['Retry-After' => '999999']),
            new Response(503, ['Retry-After' => '30']),
            new Response(200),
        ]);
        $client->get('http://partner/', ['http_errors' => false]);
        $client->get('http://other/', ['http_errors' => false]);
        self::assertSame(86_400, self::refusal($client, 'http://partner/')->retryAfter());
        $limiter->reset(new Request('GET', 'http://partner/anything'));
        $limiter->reset(new Request('GET', 'http://elsewhere/'));
        self::assertSame(200, $client->get('http://partner/')->getStatusCode());
        self::refusal($client, 'http://other/');
    }

    public static function limitsThatHoldBack(): iterable
    {
        yield 'a bucket' => ['10/s burst 20'];
        yield 'a window' => ['10/h'];
    }

    public function testWithoutARetryAfterNothingIsHeldBack(): void
    {
        Store::fake();
        $client = $this->client(
            new OutboundLimiter(['partner' => '10/s burst 20']),
            [new Response(503), new Response(500, ['Retry-After' => '30']), new Response(200)],
        );
        foreach (range(1, 3) as $ignored) {
            $client->get('http://partner/', ['http_errors' => false]);
        }
        self::assertCount(3, $this->sent);
    }

    public function testRetriesAreCountedAndWaitAsTheyAreTold(): void
    {
        Store::fake();
        $again = fn (int $tries, $request, $response) => $response?->getStatusCode() === 429 && $tries < 2;
        $stack = $this->stack([new Response(429, ['Retry-After' => '2']), new Response(200), new Response(200)]);
        $stack->push(Middleware::retry($again, fn () => 10), 'retry');
        $stack->push(new OutboundLimiter(['partner' => '10/s burst 1'], maxWait: 5.0), 'sluice');
        $client = new Client(['handler' => $stack]);
        self::assertSame(200, $client->get('http://partner/')->getStatusCode());
        self::assertSame(200, $client->get('http://partner/')->getStatusCode());
        self::assertSame([null, 2000, 2100], array_map(fn ($sent) => $sent['options']['delay'] ?? null, $this->sent));
    }

    public function testWhereTheStoreIsGoneNothingIsSent(): void
    {
        $gone = new Limiter('redis://127.0.0.1:1');
        $client = $this->client(new OutboundLimiter(['partner' => ['10/s burst 20', '9/h']], limiter: $gone));
        $refused = self::refusal($client, 'http://partner/');
        self::assertSame('Not sent to partner: the store of the rate limit could not be asked', $refused->getMessage());
        self::assertSame(1, $refused->retryAfter());
        self::assertSame([], $this->sent);
    }

    public function testOrAsIsSaid(): void
    {
        $gone = new Limiter('redis://127.0.0.1:1');
        $asks = fn (Failure $failure) => $this->client(
            new OutboundLimiter(['partner' => '1/m burst 1'], limiter: $gone, onFailure: $failure),
            [new Response(429, ['Retry-After' => '30']), new Response(200)],
        );
        $open = $asks(Failure::Allow);
        $open->get('http://partner/', ['http_errors' => false]);
        self::assertSame(200, $open->get('http://partner/')->getStatusCode());
        $this->expectException(StoreException::class);
        $asks(Failure::Throw)->getAsync('http://partner/')->wait();
    }

    public function testManyPromisesAreBookedOneBehindTheOther(): void
    {
        Store::fake();
        $client = $this->client(new OutboundLimiter(['partner' => '100/s burst 3'], maxWait: 1.0));
        Utils::all(array_map(fn () => $client->getAsync('http://partner/'), range(1, 6)))->wait();
        self::assertSame(
            [0, 0, 0, 10, 20, 30],
            array_map(fn ($sent) => $sent['options']['delay'] ?? 0, $this->sent),
        );
    }

    public function testWhatIsNoLimitIsSaidAtOnce(): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('the limit for "partner": ');
        new OutboundLimiter(['partner' => '10 apples']);
    }

    public function testANegativeWaitIsNone(): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('maxWait must be 0 or more seconds, -1 given');
        new OutboundLimiter(['partner' => Limit::none()], maxWait: -1);
    }

    /** @param list<mixed>|null $answers in turn; null is 200 for ever */
    private function client(OutboundLimiter $limiter, ?array $answers = null): Client
    {
        $stack = $this->stack($answers);
        $stack->push($limiter, 'sluice');
        return new Client(['handler' => $stack]);
    }

    /** @param list<mixed>|null $answers */
    private function stack(?array $answers): HandlerStack
    {
        $mock = $answers === null ? null : new MockHandler($answers);
        return HandlerStack::create(function (RequestInterface $request, array $options) use ($mock): PromiseInterface {
            $this->sent[] = ['host' => $request->getUri()->getHost(), 'options' => $options];
            unset($options['delay']);   // which the mock would sleep for
            return ($mock ?? new MockHandler([new Response(200)]))($request, $options);
        });
    }

    /** @param array<string, mixed> $options */
    private static function refusal(Client $client, string $url, array $options = []): OutboundLimitException
    {
        try {
            $client->get($url, $options);
        } catch (OutboundLimitException $refused) {
            self::assertFalse($refused->decision->allowed);
            return $refused;
        }
        self::fail("{$url} was sent");
    }
}
