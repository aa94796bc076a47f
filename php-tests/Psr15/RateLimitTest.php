<?php

declare(strict_types=1);

namespace Sluice\Tests\Psr15;

use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\ServerRequest;
use Nyholm\Psr7\Stream;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Sluice\ClientAddress;
use Sluice\Http\Facts;
use Sluice\Http\Guard;
use Sluice\Http\Verdict;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Psr15\RateLimit;
use Sluice\Psr15\Route;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;

require_once '/usr/share/php/Nyholm/Psr7/autoload.php';
require_once __DIR__ . '/Interfaces/RequestHandlerInterface.php';
require_once __DIR__ . '/Interfaces/MiddlewareInterface.php';

/** One middleware object, many requests, as in a worker that lives long. */
final class RateLimitTest extends TestCase
{
    protected function setUp(): void
    {
        Store::fake();
    }

    public function testNothingOfARequestStaysForTheNext(): void
    {
        $middleware = self::middleware('1/h', user: fn ($request) => $request->getHeaderLine('X-User') ?: null);
        foreach (['a', 'b', null, 'c'] as $user) {
            self::assertSame(200, self::ask($middleware, self::request(['X-User' => (string) $user]))->getStatusCode());
            self::assertSame(429, self::ask($middleware, self::request(['X-User' => (string) $user]))->getStatusCode());
        }
    }

    public function testAForwardedAddressIsBelievedOnlyOfAProxyThatIsKnown(): void
    {
        $naive = self::middleware('1/h');
        self::assertSame(200, self::ask($naive, self::request(['X-Forwarded-For' => '1.1.1.1']))->getStatusCode());
        self::assertSame(429, self::ask($naive, self::request(['X-Forwarded-For' => '2.2.2.2']))->getStatusCode());

        $behind = self::middleware('1/h', address: new ClientAddress(['192.0.2.1']));
        $from = fn (string $list) => self::ask($behind, self::request(['X-Forwarded-For' => $list]))->getStatusCode();
        self::assertSame(200, $from('6.6.6.6, 203.0.113.1'));
        self::assertSame(429, $from('7.7.7.7, 203.0.113.1'));
        self::assertSame(200, $from('203.0.113.2'));
    }

    public function testAClosureMayGiveALimitPerPlanOrNone(): void
    {
        $middleware = self::middleware(fn (Facts $facts): array => $facts->user === 'free'
            ? [Limit::slidingWindow(1, 60)->by($facts->client())]
            : [], user: fn ($request) => $request->getHeaderLine('X-User'));
        foreach (['free' => 429, 'paid' => 200] as $user => $second) {
            self::ask($middleware, self::request(['X-User' => $user]));
            self::assertSame($second, self::ask($middleware, self::request(['X-User' => $user]))->getStatusCode());
        }
    }

    public function testALimitOfAnotherKindGoesByClientAndRoute(): void
    {
        $middleware = self::middleware(Limit::tokenBucket(1, 1), route: fn ($request) => $request->getUri()->getHost());
        $to = fn (string $host) => self::ask($middleware, self::request([], "http://{$host}/"))->getStatusCode();
        self::assertSame([200, 429, 200], [$to('a'), $to('a'), $to('b')]);
    }

    public function testTwoSpecsOfOneKindAreTwoLimits(): void
    {
        $middleware = self::middleware(['10/s burst 10', '1/h burst 3']);
        $ask = fn (): int => self::ask($middleware, self::request())->getStatusCode();
        self::assertSame([200, 200, 200, 429], [$ask(), $ask(), $ask(), $ask()]);
    }

    public function testARefusalCanBeMadeIntoSomethingElse(): void
    {
        $middleware = self::middleware('1/h', refusal: fn (Verdict $verdict, ResponseInterface $response) => $response
            ->withHeader('Content-Type', 'text/plain')
            ->withBody(Stream::create("come back in {$verdict->retryAfter()} s")));
        self::ask($middleware, self::request());
        $refused = self::ask($middleware, self::request());
        self::assertSame('come back in 3600 s', (string) $refused->getBody());
        self::assertSame(['3600'], $refused->getHeader('Retry-After'));
    }

    public function testARefusedRequestReachesNoHandler(): void
    {
        $this->expectNotToPerformAssertions();
        self::middleware(Limit::deny())->process(self::request(), new class implements RequestHandlerInterface {
            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                throw new \LogicException('reached');
            }
        });
    }

    public function testAPermitIsHeldUntilTheBodyIsSent(): void
    {
        $middleware = self::middleware('1 concurrent');
        $ask = fn () => self::ask($middleware, self::request());
        $response = $ask();
        self::assertSame(429, $ask()->getStatusCode());
        $body = $response->getBody();
        $body->rewind();
        while (!$body->eof()) {
            self::assertSame(429, $ask()->getStatusCode());
            $body->read(3);
        }
        self::assertSame('served', (string) $ask()->getBody());
        $ask()->getBody()->close();
        $whole = $ask()->getBody();
        $whole->rewind();
        self::assertSame('served', $whole->getContents());
        $ask()->getBody()->detach();
        $dropped = $ask();
        self::assertSame(200, $dropped->getStatusCode());
        unset($dropped);
        self::assertSame(200, $ask()->getStatusCode());
    }

    public function testAPermitIsFreeAfterAnException(): void
    {
        $middleware = self::middleware('1 concurrent');
        foreach (range(1, 2) as $ignored) {
            try {
                self::ask($middleware, self::request(), fn () => throw new \DomainException('broken'));
                self::fail('nothing was thrown');
            } catch (\DomainException $broken) {
                self::assertSame('broken', $broken->getMessage());
            }
        }
        self::assertSame(200, self::ask($middleware, self::request())->getStatusCode());
    }

    public function testABodyWithAPermitIsTheBodyInAllElse(): void
    {
        $body = self::ask(self::middleware('1 concurrent'), self::request())->getBody();
        self::assertSame(6, $body->getSize());
        self::assertTrue($body->isSeekable() && $body->isReadable() && $body->isWritable());
        $body->seek(2);
        self::assertSame([2, 'rv'], [$body->tell(), $body->read(2)]);
        $body->rewind();
        self::assertSame(2, $body->write('SE'));
        self::assertSame('SErved', (string) $body);
        self::assertSame('w+b', $body->getMetadata('mode'));
    }

    public function testANameThatNobodyKnowsIsToldWhenTheApplicationStarts(): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('there is no policy "apo"');
        self::middleware('apo');
    }

    /** @dataProvider routes */
    public function testWhereARequestGoes(string $expected, string $attribute, mixed $value): void
    {
        self::assertSame($expected, Route::of(self::request()->withAttribute($attribute, $value)));
    }

    public static function routes(): iterable
    {
        $slim = fn (?string $name) => new class ($name) {
            public function __construct(private ?string $name)
            {
            }

            public function getName(): ?string
            {
                return $this->name;
            }

            public function getMethods(): array
            {
                return ['GET', 'POST'];
            }

            public function getPattern(): string
            {
                return '/items/{id}';
            }
        };
        $mezzio = fn (string|false $name) => new class ($name) {
            public function __construct(private string|false $name)
            {
            }

            public function getMatchedRouteName(): string|false
            {
                return $this->name;
            }
        };
        yield 'Slim, named' => ['items', '__route__', $slim('items')];
        yield 'Slim, unnamed' => ['GET|POST /items/{id}', '__route__', $slim(null)];
        yield 'Mezzio' => ['items', 'Mezzio\Router\RouteResult', $mezzio('items')];
        yield 'Mezzio, nothing found' => ['', 'Mezzio\Router\RouteResult', $mezzio(false)];
        yield 'an attribute of something else' => ['', 'route', 'text'];
        yield 'no router' => ['', 'other', null];
    }

    private static function middleware(string|array|Limit|\Closure $limits, mixed ...$options): RateLimit
    {
        return new RateLimit(new Psr17Factory(), $limits, new Guard(new Limiter()), ...$options);
    }

    /** @param array<string, string> $headers */
    private static function request(array $headers = [], string $uri = 'http://localhost/'): ServerRequestInterface
    {
        return new ServerRequest('GET', $uri, $headers, serverParams: ['REMOTE_ADDR' => '192.0.2.1']);
    }

    private static function ask(
        RateLimit $middleware,
        ServerRequestInterface $request,
        ?\Closure $do = null,
    ): ResponseInterface {
        $do ??= fn () => (new Psr17Factory())->createResponse()->withBody(Stream::create('served'));
        return $middleware->process($request, new class ($do) implements RequestHandlerInterface {
            public function __construct(private \Closure $do)
            {
            }

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                return ($this->do)($request);
            }
        });
    }
}
