<?php

declare(strict_types=1);

namespace Sluice\Laravel\Console;

use Illuminate\Contracts\Container\Container;
use Illuminate\Contracts\Http\Kernel;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Illuminate\Routing\Route;
use Illuminate\Routing\Router;
use Sluice\Http\Policies;
use Sluice\Laravel\NamedLimits;
use Sluice\Laravel\RateLimit;
use Sluice\Laravel\RequestFacts;
use Sluice\Laravel\RouteLimits;
use Throwable;

/**
 * All routes of the application, and what limits each.
 */
final class RouteTable
{
    public function __construct(
        private readonly Container $app,
        private readonly Router $router,
        private readonly RouteLimits $routes,
        private readonly NamedLimits $named,
    ) {
    }

    /**
     * @param string $path only URIs like this, such as `api/*`; empty for all
     * @return list<array{method: string, uri: string, name: string, by: string, limits: list<string>, error: ?string}>
     *         `by` is `sluice`, `throttle`, `default` (the policy of a group) or `nothing`
     */
    public function rows(string $path = ''): array
    {
        return array_map($this->row(...), $this->routes($path));
    }

    /** @return list<Route> */
    public function routes(string $path = ''): array
    {
        // Groups and aliases come from the kernel, which a command has not made yet.
        $this->app->make(Kernel::class);
        $routes = $this->router->getRoutes()->getRoutes();
        foreach ($routes as $route) {
            $this->routes->prepare($route);
        }
        return array_values(array_filter(
            $routes,
            static fn (Route $route): bool => $path === '' || fnmatch(ltrim($path, '/'), ltrim($route->uri(), '/')),
        ));
    }

    /** @return array{method: string, uri: string, name: string, by: string, limits: list<string>, error: ?string} */
    private function row(Route $route): array
    {
        $limits = [];
        $error = null;
        try {
            $own = $this->routes->own($route);
            $names = $this->routes->names($route);
            foreach ($names as $name) {
                if ($name !== '' || $own === []) {
                    array_push($limits, ...$this->words($this->named->meant($name), $own !== []));
                }
            }
            foreach ($own as $limit) {
                array_push($limits, ...$this->ownWords($limit));
            }
        } catch (Throwable $problem) {
            [$names, $own, $error] = [[], [], $problem->getMessage()];
        }
        $throttle = $this->throttle($route);
        $defaults = $this->routes->byGroup($route);
        return [
            'method' => RequestFacts::methods($route),
            'uri' => '/' . ltrim($route->uri(), '/'),
            'name' => RequestFacts::route($route) === $route->getName() ? (string) $route->getName() : '',
            'by' => match (true) {
                // Each request to it is an error, whatever else stands there.
                $error !== null => 'nothing',
                $own !== [], array_diff($names, $defaults) !== [] => 'sluice',
                $names !== [] => 'default',
                $throttle !== [] => 'throttle',
                default => 'nothing',
            },
            'limits' => [...array_values(array_unique($limits)), ...$throttle],
            'error' => $error,
        ];
    }

    /** @return list<string> */
    private function words(string $name, bool $hasOwn): array
    {
        if ($this->named->isDecidedByCode($name)) {
            return ["{$name}: decided by code"];
        }
        return array_values(array_map(
            static fn (array $part): string => self::part($name, $part),
            $this->named->parts($name, $hasOwn),
        ));
    }

    /** @return list<string> */
    private function ownWords(RateLimit $own): array
    {
        if ($own->limit !== null && $this->named->isDecidedByCode($own->limit)) {
            return ["{$own->limit}: decided by code"];
        }
        return array_map(
            static fn (array $part): string => self::part($own->limit ?? 'route', $part),
            $this->named->ownParts($own),
        );
    }

    /** @param array{limit: \Sluice\Limit, by: string} $part */
    private static function part(string $name, array $part): string
    {
        $spec = (string) $part['limit'];
        $what = $spec === 'none' || $spec === 'deny' ? $spec : "{$spec} by {$part['by']}";
        return $name === $spec || ctype_digit($name[0]) ? $what : "{$name}: {$what}";
    }

    /** @return list<string> */
    private function throttle(Route $route): array
    {
        return array_map(
            static fn (array $arguments): string => rtrim('throttle:' . implode(',', $arguments), ':'),
            $this->throttles($route),
        );
    }

    /** @return list<list<string>> the arguments of each `throttle` on a route */
    public function throttles(Route $route): array
    {
        $found = [];
        foreach ($this->routes->middleware($route) as [$class, $arguments]) {
            if (is_a($class, ThrottleRequests::class, true)) {
                $found[] = $arguments === '' ? [] : explode(',', $arguments);
            }
        }
        return $found;
    }
}
