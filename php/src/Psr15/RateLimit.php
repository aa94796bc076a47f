<?php

declare(strict_types=1);

namespace Sluice\Psr15;

use Closure;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Sluice\ClientAddress;
use Sluice\Http\Facts;
use Sluice\Http\Guard;
use Sluice\Http\HeaderStyle;
use Sluice\Http\Policies;
use Sluice\Http\Verdict;
use Sluice\Limit;
use Throwable;

/**
 * Middleware for Slim, Mezzio and every other PSR-15 host.
 *
 * ```php
 * $app->add(new RateLimit($responseFactory, '20/s burst 100'));
 * ```
 *
 * A refused request gets a 429 with `Retry-After` and a problem document
 * (RFC 9457), and the handlers behind are not called. Holds nothing of a
 * request, so one serves a worker for life.
 */
final class RateLimit implements MiddlewareInterface
{
    /** @var Closure(Facts): list<Limit> */
    private readonly Closure $limits;

    /**
     * @param ResponseFactoryInterface $responses makes the 429
     * @param string|Limit|list<string>|(Closure(Facts): list<Limit>) $limits a
     *        spec, the name of a policy, or several of either, each by client
     *        and route if a policy says nothing else; a limit, likewise; or
     *        what to ask for a request, keyed with {@see Limit::by()}
     * @param Guard $guard the limiter, the allow list and the log of denials
     * @param Policies $policies what names mean
     * @param ClientAddress $address knows the proxies in front. Without any,
     *        the address is REMOTE_ADDR, and no header is believed
     * @param (Closure(ServerRequestInterface): ?string)|null $user the
     *        authenticated user's identifier; by default nobody is known
     * @param (Closure(ServerRequestInterface): string)|null $route a name for
     *        where the request goes; by default that of the router, where this
     *        runs behind Slim's or Mezzio's routing, else one for the whole
     *        application. Never the path itself: each id in it would have a
     *        limit of its own
     * @param HeaderStyle $headers what to tell clients of the limit
     * @param (Closure(Verdict, ResponseInterface): ResponseInterface)|null $refusal
     *        makes something else of the 429, which has its headers already
     */
    public function __construct(
        private readonly ResponseFactoryInterface $responses,
        string|Limit|array|Closure $limits,
        private readonly Guard $guard = new Guard(),
        Policies $policies = new Policies(),
        private readonly ClientAddress $address = new ClientAddress(),
        private readonly ?Closure $user = null,
        private readonly ?Closure $route = null,
        private readonly HeaderStyle $headers = HeaderStyle::Standard,
        private readonly ?Closure $refusal = null,
    ) {
        $this->limits = match (true) {
            $limits instanceof Limit => static fn (Facts $facts): array => [Policies::keyed($limits, $facts)],
            is_string($limits) => self::named([$limits], $policies),
            // @mago-ignore analysis:possibly-invalid-argument - a Closure is no array.
            is_array($limits) => self::named($limits, $policies),
            default => $limits,
        };
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $facts = $this->facts($request);
        $verdict = $this->guard->check($facts, ...($this->limits)($facts));
        if (!$verdict->allowed) {
            return $this->refuse($verdict);
        }
        try {
            $response = $this->withHeaders($handler->handle($request), $verdict);
        } catch (Throwable $error) {
            $verdict->release();
            throw $error;
        }
        return $verdict->holdsPermits() ? $response->withBody(new HeldBody($response->getBody(), $verdict)) : $response;
    }

    private function facts(ServerRequestInterface $request): Facts
    {
        $remote = $request->getServerParams()['REMOTE_ADDR'] ?? '';
        return new Facts(
            ip: $this->address->of(is_string($remote) ? $remote : '', $request->getHeaderLine('X-Forwarded-For')),
            route: $this->route === null ? Route::of($request) : ($this->route)($request),
            user: $this->user === null ? null : ($this->user)($request),
            method: $request->getMethod(),
            uri: $request->getRequestTarget(),
            input: static function (string $field) use ($request): mixed {
                $body = $request->getParsedBody();
                $body = is_object($body) ? get_object_vars($body) : $body ?? [];
                return $body[$field] ?? $request->getQueryParams()[$field] ?? null;
            },
        );
    }

    private function refuse(Verdict $verdict): ResponseInterface
    {
        $response = $this->withHeaders($this->responses->createResponse(429), $verdict)
            ->withHeader('Content-Type', 'application/problem+json');
        $response->getBody()->write(json_encode($verdict->problem(), JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES));
        return $this->refusal === null ? $response : ($this->refusal)($verdict, $response);
    }

    private function withHeaders(ResponseInterface $response, Verdict $verdict): ResponseInterface
    {
        foreach ($verdict->headers($this->headers) as $name => $value) {
            $response = $response->withHeader($name, $value);
        }
        return $response;
    }

    /**
     * @param list<string> $names
     * @return Closure(Facts): list<Limit>
     */
    private static function named(array $names, Policies $policies): Closure
    {
        // A name that nobody knows is told when the application starts.
        foreach ($names as $name) {
            $policies->parts($name);
        }
        return static fn (Facts $facts): array => $policies->all($names, $facts);
    }
}
