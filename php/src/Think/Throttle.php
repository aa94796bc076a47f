<?php

declare(strict_types=1);

namespace Sluice\Think;

use Closure;
use LogicException;
use Psr\SimpleCache\CacheInterface;
use Sluice\Http\HeaderStyle;
use Sluice\Http\Verdict;
use think\exception\HttpResponseException;
use think\Request;
use think\Response;
use TypeError;

/**
 * Middleware that limits requests by `config/throttle.php`, by policies, and by
 * the attributes of actions.
 *
 * ```php
 * Route::post('login', 'user/login')->middleware(Throttle::class, ['policy' => 'login']);
 * Route::get('report', 'report/index')->middleware(Throttle::class, ['visit_rate' => '10/m']);
 * ```
 *
 * The container keeps one object of it. Each request is handled by a copy, which
 * closures of the configuration get as their `$throttle`; what they set there ends
 * with the request. It is a `think\middleware\Throttle`, of think-throttle where
 * that is installed, so closures may ask for either type.
 */
final class Throttle extends \think\middleware\Throttle
{
    public const WAIT = '__WAIT__';

    /** Only in the copy that handles a request. */
    private ?Settings $settingsOfRequest = null;
    private ?CacheInterface $cacheOfRequest = null;

    /** @var array<string, string> */
    private array $headersOfRequest = [];

    public function __construct()
    {
        // Needs nothing that think-throttle's does.
    }

    /**
     * Lets a request go on, or refuses it.
     *
     * @param Closure(Request): Response $next
     * @param array<array-key, mixed>|string $params what is said at the route, by the
     *        names of `config/throttle.php`, and `policy`; or the name of a policy
     * @param string ...$policies more of them, as in `throttle:login:api`
     * @throws HttpResponseException with the refusal
     */
    // @mago-ignore analysis:incompatible-parameter-count - it has the two of theirs, and more that may be left out.
    public function handle(
        Request $request,
        Closure $next,
        array|string $params = [],
        string ...$policies,
    ): Response {
        $engine = Engine::current();
        if (!$engine->limits()) {
            return $next($request);
        }
        if (is_string($params)) {
            $params = ['policy' => [$params, ...$policies]];
        }
        $visit = clone $this;
        $visit->admit($engine, $request, $params);
        return $visit->withHeaders($next($request));
    }

    /** Gives back permits, after the answer was sent. */
    public function end(Response $response): void
    {
        $app = Engine::app();
        // Not there if it could not be made, and then that was told already.
        if ($app->exists(Engine::class)) {
            Engine::current()->release($app->request);
        }
    }

    /** In a closure: the rate of this request, such as `10/m` or `200/300`. */
    public function setRate(string $rate): self
    {
        $this->settings()->set('visit_rate', $rate);
        return $this;
    }

    /** In a closure: the class of the driver for this request. */
    public function setDriverClass(string $class_name): self
    {
        $this->settings()->set('driver_name', $class_name);
        return $this;
    }

    /** In a closure: the cache that a driver class of one's own counts in. */
    public function setCache(CacheInterface $cache): self
    {
        $this->settings();
        $this->cacheOfRequest = $cache;
        return $this;
    }

    /** What a refusal says, with {@see self::WAIT} where the seconds belong. */
    public function getFailMessage(): string
    {
        return $this->settings()->text('visit_fail_text');
    }

    /** @return array<string, string> the headers of this request, once it was decided */
    public function getRateLimitHeaders(): array
    {
        return $this->headersOfRequest;
    }

    /**
     * A refusal.
     *
     * @param int $wait_seconds until it would pass
     * @throws TypeError if `visit_fail_response` gave no response
     */
    public function buildLimitException(int $wait_seconds, Request $request): HttpResponseException
    {
        $settings = $this->settings();
        $closure = $settings->failResponse();
        if ($closure === null) {
            $text = str_replace(self::WAIT, (string) $wait_seconds, $this->getFailMessage());
            $response = Response::create($text)->code($settings->failCode());
        } else {
            $response = Engine::app()->invokeFunction($closure, [$this, $request, $wait_seconds]);
            if (!$response instanceof Response) {
                throw new TypeError('"visit_fail_response" must return a ' . Response::class);
            }
        }
        if ($settings->showsHeaders()) {
            $response->header($this->headersOfRequest);
        }
        return new HttpResponseException($response);
    }

    /** @param array<array-key, mixed> $params */
    private function admit(Engine $engine, Request $request, array $params): void
    {
        /** @var array<array-key, mixed> $configured */
        $configured = Engine::app()->config->get('throttle', []);
        $this->settingsOfRequest = new Settings(self::$default_config, $configured, $params);
        $unknown = $this->settings()->unknown();
        if ($unknown !== []) {
            $engine->warn('The middleware was given "' . implode('", "', $unknown) . '", which means nothing to it; it'
                . ' takes ' . implode(', ', Settings::NAMES) . '.');
        }
        $facts = $engine->facts($request);
        $parts = new Parts($this, $this->settings(), $engine, $request, $facts);
        $verdict = $engine->check($request, $facts, ...array_column($parts->limits, 'limit'));
        $this->headersOfRequest = $verdict->headers(HeaderStyle::Think);
        if (!$verdict->allowed) {
            $this->refuse($request, $verdict, $parts);
        }
        if ($parts->drivers !== [] && $verdict->passedBy === null) {
            $this->askDrivers($engine, $request, $verdict, $parts);
        }
    }

    private function refuse(Request $request, Verdict $verdict, Parts $parts): never
    {
        $refusing = $verdict->limit();
        foreach ($parts->limits as $part) {
            if ($part->limit === $refusing) {
                $this->say($part->message);
                throw $this->buildLimitException($verdict->retryAfter() ?? $part->seconds, $request);
            }
        }
        throw $this->buildLimitException($verdict->retryAfter() ?? 60, $request);
    }

    /** Last, for what they count cannot be given back. */
    private function askDrivers(Engine $engine, Request $request, Verdict $verdict, Parts $parts): void
    {
        $cache = $this->cacheOfRequest ?? Engine::app()->cache;
        foreach ($parts->drivers as $driver) {
            $headers = [];
            $wait = $driver->ask($cache, $headers);
            if ($wait !== null) {
                $engine->takeBack($verdict);
                $this->headersOfRequest = ['Retry-After' => (string) $wait];
                $this->say($driver->message);
                throw $this->buildLimitException($wait, $request);
            }
            $this->headersOfRequest = self::leastLeft($headers, $this->headersOfRequest);
        }
    }

    private function say(?string $message): void
    {
        if ($message !== null) {
            $this->settings()->set('visit_fail_text', $message);
        }
    }

    private function withHeaders(Response $response): Response
    {
        $code = $response->getCode();
        if ($this->headersOfRequest !== [] && $code >= 200 && $code < 300 && $this->settings()->showsHeaders()) {
            /** @var array<string, string> $theirs of middleware that was asked later */
            $theirs = $response->getHeader();
            $response->header(self::leastLeft($theirs, $this->headersOfRequest));
        }
        return $response;
    }

    /**
     * Those headers of the two that leave a client less.
     *
     * @param array<string, string> $one
     * @param array<string, string> $other
     * @return array<string, string>
     */
    private static function leastLeft(array $one, array $other): array
    {
        $left = static fn (array $headers): int => (int) ($headers['X-Rate-Limit-Remaining'] ?? PHP_INT_MAX);
        return $left($one) < $left($other) ? $one : $other;
    }

    private function settings(): Settings
    {
        return $this->settingsOfRequest ?? throw new LogicException(
            'this object is shared by all requests; call it in a closure of config/throttle.php,'
            . ' on the $throttle that it is given'
        );
    }
}
