<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Closure;
use Illuminate\Routing\Route;
use Illuminate\Routing\Router;
use Illuminate\Support\Str;
use ReflectionClass;
use ReflectionFunction;
use ReflectionMethod;
use ValueError;
use WeakMap;

/**
 * What a route says about its limits: by middleware, by numbers, by attributes.
 *
 * Remembers what it read as long as the route lives; of a request it knows
 * nothing.
 */
final class RouteLimits
{
    private const CAPACITY = 'limit_capacity';
    private const RATE = 'limit_rate';

    /** @var WeakMap<Route, list<RateLimit>> */
    private WeakMap $own;

    /** @param array<string, string> $groups policies by the name of the group */
    public function __construct(
        private readonly Router $router,
        private readonly array $groups,
    ) {
        $this->own = new WeakMap();
    }

    /**
     * The names that the route's middleware gives, in order; an empty one is
     * the default policy.
     *
     * @return list<string>
     */
    public function names(Route $route): array
    {
        $names = [];
        foreach ($this->middleware($route) as [$class, $arguments]) {
            if ($class === LimitRequests::class) {
                array_push($names, ...explode(',', $arguments));
            }
        }
        return $this->kept($route, array_values(array_unique($names)));
    }

    /**
     * The classes of the route's middleware, each with its arguments.
     *
     * @return list<array{string, string}>
     */
    public function middleware(Route $route): array
    {
        $named = array_filter($this->router->gatherRouteMiddleware($route), is_string(...));
        return array_map(static function (string $middleware): array {
            $colon = strpos($middleware, ':');
            return $colon === false
                ? [$middleware, '']
                : [substr($middleware, 0, $colon), substr($middleware, $colon + 1)];
        }, array_values($named));
    }

    /**
     * These names without the groups' policies where the route does not want
     * them: `->withoutMiddleware('sluice')`.
     *
     * @param list<string> $names
     * @return list<string>
     */
    public function kept(Route $route, array $names): array
    {
        $isUnwanted = array_intersect(['sluice', LimitRequests::class], $route->excludedMiddleware()) !== [];
        return $isUnwanted ? array_values(array_diff($names, $this->byGroup($route))) : $names;
    }

    /** @return list<string> the policies that the route has only by its groups */
    public function byGroup(Route $route): array
    {
        return array_values(array_intersect_key(
            $this->groups,
            array_flip(array_filter($route->gatherMiddleware(), is_string(...))),
        ));
    }

    /**
     * The limits of the route's own: its numbers, else the attributes of its
     * action, else those of the controller.
     *
     * ```php
     * Route::get('/export', …)->defaults('limit_capacity', 10)->defaults('limit_rate', 0.5);
     * Route::get('/export', ['uses' => …, 'limit_capacity' => 10, 'limit_rate' => 0.5]);
     * ```
     *
     * @return list<RateLimit>
     * @throws ValueError for numbers that are none, and for one without the other
     */
    public function own(Route $route): array
    {
        if (!isset($this->own[$route])) {
            $this->own[$route] = self::numbers($route) ?? self::attributes($route);
        }
        return $this->own[$route];
    }

    /**
     * Before the route runs: limits of its own need no middleware to be named,
     * and its numbers are no parameters for the controller.
     */
    public function prepare(Route $route): void
    {
        if ($this->own($route) !== [] && !in_array(LimitRequests::class, $route->middleware(), true)) {
            $route->middleware(LimitRequests::class);
            // Who has asked for its middleware before has not seen ours.
            $route->flushController();
        }
        if ($route->hasParameters()) {
            $route->forgetParameter(self::CAPACITY);
            $route->forgetParameter(self::RATE);
        }
    }

    /** @return list<RateLimit>|null */
    private static function numbers(Route $route): ?array
    {
        // Not from the parameters, which a client writes.
        $capacity = $route->defaults[self::CAPACITY] ?? $route->getAction(self::CAPACITY);
        $rate = $route->defaults[self::RATE] ?? $route->getAction(self::RATE);
        if ($capacity === null && $rate === null) {
            return null;
        }
        // A zone in which strings are welcome: the numbers may come from .env.
        if (!is_numeric($capacity) || !is_numeric($rate) || (float) $capacity != (int) $capacity) {
            throw new ValueError(sprintf(
                'the route "%s" must have both %s, a whole number of tokens, and %s, tokens per second',
                RequestFacts::route($route),
                self::CAPACITY,
                self::RATE,
            ));
        }
        return [new RateLimit(capacity: (int) $capacity, rate: $rate + 0)];
    }

    /** @return list<RateLimit> */
    private static function attributes(Route $route): array
    {
        $uses = $route->getAction('uses');
        if ($uses instanceof Closure) {
            return self::made(new ReflectionFunction($uses));
        }
        [$class, $method] = Str::parseCallback(is_string($uses) ? $uses : '', '__invoke');
        if (!is_string($class) || !class_exists($class)) {
            return [];
        }
        $found = method_exists($class, (string) $method)
            ? self::made(new ReflectionMethod($class, (string) $method))
            : [];
        $controller = new ReflectionClass($class);
        while ($found === [] && $controller !== false) {
            $found = self::made($controller);
            $controller = $controller->getParentClass();
        }
        return $found;
    }

    /** @return list<RateLimit> */
    private static function made(ReflectionFunction|ReflectionMethod|ReflectionClass $place): array
    {
        $made = [];
        foreach ($place->getAttributes(RateLimit::class) as $attribute) {
            $made[] = $attribute->newInstance();
        }
        return $made;
    }
}
