<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Closure;
use Illuminate\Contracts\Container\Container;
use Illuminate\Http\Exceptions\ThrottleRequestsException;
use Illuminate\Http\Request;
use Illuminate\Routing\Route;
use Sluice\Http\Guard;
use Sluice\Http\Verdict;
use Symfony\Component\HttpFoundation\Response;
use Throwable;

/**
 * The middleware `sluice`: `sluice`, `sluice:login`, `sluice:20/s burst 100`,
 * `sluice:login,1000/h`.
 *
 * However often it stands on a route, in groups too, all its limits are asked
 * at once: if one refuses, none is charged.
 */
final class LimitRequests
{
    public function __construct(
        private readonly Container $app,
        private readonly Settings $settings,
        private readonly RouteLimits $routes,
        private readonly NamedLimits $named,
    ) {
    }

    /**
     * @param Closure(Request): Response $next
     * @param string ...$names of policies and of {@see Sluice::for()}, or specs;
     *        none means the route's own limits, else the default policy
     * @throws ThrottleRequestsException for a refusal, unless a responder is configured
     * @throws \ValueError for a name that nobody knows
     */
    public function handle(Request $request, Closure $next, string ...$names): Response
    {
        if (!$this->app->make(Presence::class)->limits()) {
            return $next($request);
        }
        $asked = Asked::of($request);
        [$new, $own] = $this->toAsk($asked, $request->route(), $names === [] ? [''] : array_values($names));
        if ($new === [] && $own === []) {
            return $next($request);
        }
        $facts = RequestFacts::of($request);
        $limits = $this->named->of($new, $own, $facts, $request);
        if ($limits instanceof Response) {
            return $limits;
        }
        $verdict = $this->app->make(Guard::class)->check($facts, ...$limits);
        $headers = $verdict->headers($this->settings->headers());
        if (!$verdict->allowed) {
            return $this->refuse($request, $verdict, $headers);
        }
        $asked->verdicts[] = $verdict;
        try {
            $response = $next($request);
        } catch (Throwable $error) {
            // Nobody made an answer of it, so nobody will call terminate().
            $verdict->release();
            throw $error;
        }
        self::addHeaders($response, $headers);
        return $response;
    }

    /** The answer was sent: gives back the permits of concurrency limits. */
    public function terminate(Request $request): void
    {
        Asked::of($request)->release();
    }

    /**
     * What is still to be asked: the first on a route asks for all of them.
     *
     * @param list<string> $names
     * @return array{list<string>, list<RateLimit>}
     */
    private function toAsk(Asked $asked, mixed $route, array $names): array
    {
        $own = [];
        if ($route instanceof Route && !$asked->route) {
            $asked->route = true;
            $own = $this->routes->own($route);
            $names = [...$this->routes->names($route), ...$this->routes->kept($route, $names)];
        }
        $new = array_values(array_diff($names, $asked->names));
        array_push($asked->names, ...$new);
        return [$new, $own];
    }

    /** @param array<string, string> $headers */
    private function refuse(Request $request, Verdict $verdict, array $headers): Response
    {
        $responder = $this->settings->responder();
        if ($responder === null) {
            throw new ThrottleRequestsException($this->settings->message(), null, $headers);
        }
        // @mago-ignore analysis:docblock-type-mismatch - Settings has seen that it has __invoke().
        /** @var callable(Request, Verdict): Response $answer */
        $answer = $this->app->make($responder);
        $response = $answer($request, $verdict);
        $response->headers->add($headers);
        return $response;
    }

    /**
     * Where another limiter has spoken, the one with least left is heard.
     *
     * @param array<string, string> $headers
     */
    private static function addHeaders(Response $response, array $headers): void
    {
        $theirs = $response->headers->get('X-RateLimit-Remaining');
        $ours = $headers['X-RateLimit-Remaining'] ?? null;
        if ($theirs === null || $ours === null || (int) $ours < (int) $theirs) {
            $response->headers->add($headers);
        }
    }
}
