<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Closure;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;

/**
 * A middleware that only tells which limits it would ask: for people who want to
 * know why they were refused.
 */
final class Reading extends LaravelThrottleRequests
{
    /** @var list<RequestLimit> */
    private array $limits = [];

    /**
     * @param list<string> $arguments what stands behind `throttle:`
     * @return list<RequestLimit>
     */
    public static function of(RateLimiter $limiter, Request $request, array $arguments): array
    {
        $reading = new self($limiter);
        $reading->handle($request, static fn (): Response => new Response(), ...$arguments);
        return $reading->limits;
    }

    /**
     * @param Request $request
     * @param array<mixed> $limits
     * @return Response
     */
    protected function handleRequest($request, Closure $next, array $limits)
    {
        $this->limits = array_map(RequestLimit::of(...), array_values($limits));
        /** @var Response $response */
        $response = $next($request);
        return $response;
    }
}
