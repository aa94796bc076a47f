<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Closure;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Container\Container;
use Illuminate\Http\Exceptions\HttpResponseException;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Http\Request;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use RuntimeException;
use Sluice\Decision;
use Sluice\Http\Guard;
use Sluice\Http\HeaderStyle;
use Sluice\Laravel\RequestFacts;
use Symfony\Component\HttpFoundation\Response;

/**
 * Laravel's middleware with all limits of a request in one {@see Question}.
 *
 * Headers, exceptions and callbacks are Laravel's. A refusal is that of the first
 * limit that refuses, as there; if several do, it tells the longest wait.
 *
 * @property LaravelRateLimiter $limiter
 * @require-extends LaravelThrottleRequests
 */
trait AsksAllAtOnce
{
    /**
     * @param Request $request
     * @param array<mixed> $limits
     * @return Response
     * @throws ThrottleRequestsException
     */
    protected function handleRequest($request, Closure $next, array $limits)
    {
        if (!$this->limiter instanceof RateLimiter || count($limits) > Windows::MOST_AT_ONCE) {
            // Somebody has put his own in the place of ours, or it is too much for
            // one question: one limit after another, as Laravel does.
            return parent::handleRequest($request, $next, $limits);
        }
        $windows = $this->limiter->windows();
        $app = Container::getInstance();
        $facts = RequestFacts::ofKnown($request, $app);
        /** @var array<object> $limits */
        $question = new Question($windows, $app->make(Guard::class), $facts, $limits);
        $refusal = $question->ask();
        if ($refusal !== null) {
            [$limit, $decision] = $refusal;
            throw $this->refuse($request, $limit, $decision);
        }
        /** @var Response $response */
        $response = $next($request);
        foreach ($question->isFree() ? [] : $question->answered($response) as [$limit, $decision]) {
            $response = $this->addHeaders($response, min($limit->max, $decision->limit), $decision->remaining);
        }
        return $response;
    }

    private function refuse(Request $request, RequestLimit $limit, Decision $decision): RuntimeException
    {
        // A limit of 0 opens no window that could end; its callback may expect
        // the header all the same.
        $wait = HeaderStyle::retryAfter($decision) ?? max(1, (int) ceil($limit->seconds));
        // `sluice.scale` may have made the number smaller.
        /** @var array<string, int> $headers */
        $headers = $this->getHeaders(min($limit->max, $decision->limit), 0, $wait);
        return $limit->response === null
            ? new ThrottleRequestsException('Too Many Attempts.', null, $headers)
            : new HttpResponseException(($limit->response)($request, $headers));
    }
}
