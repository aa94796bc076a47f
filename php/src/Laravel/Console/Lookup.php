<?php

declare(strict_types=1);

namespace Sluice\Laravel\Console;

use Illuminate\Auth\AuthManager;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Contracts\Config\Repository;
use Illuminate\Contracts\Container\Container;
use Illuminate\Http\Request;
use Illuminate\Routing\Route;
use Sluice\Http\Facts;
use Sluice\Http\Found;
use Sluice\Http\Key;
use Sluice\Http\Policies;
use Sluice\Laravel\NamedLimits;
use Sluice\Laravel\RequestFacts;
use Sluice\Laravel\RouteLimits;
use Sluice\Laravel\Throttle\RateLimiter;
use Sluice\Laravel\Throttle\Reading;
use Sluice\Laravel\Throttle\Windows;
use Sluice\Limit;
use Throwable;

/**
 * From what a person types to the counts it has.
 *
 * A key is written as the log has it, or as `user:ID`, `ip:ADDRESS` or
 * `account:FIELD=VALUE`: then it is followed through every route that is limited.
 */
final class Lookup
{
    /** What a person types. */
    private const TYPED = '/^(?:(user|ip):(.+)|account:([^=]+)=(.*))$/s';

    /** @var list<string> what could not be looked at, and why */
    public array $problems = [];

    public function __construct(
        private readonly Container $app,
        private readonly Repository $config,
        private readonly RouteTable $table,
        private readonly RouteLimits $routes,
        private readonly NamedLimits $named,
        private readonly Policies $policies,
    ) {
    }

    /**
     * @param string $policy only this policy or spec, or what the log calls a
     *        limit, such as `login.1` and `route`; empty for all
     * @return list<Found>
     * @throws \ValueError for a policy that nobody knows
     */
    public function find(string $key, string $policy = '', string $guard = ''): array
    {
        $isOfTheLog = preg_match('/^(?:route|spec:.+|.+\.\d+)$/sD', $policy) === 1;
        if ($isOfTheLog && !in_array($policy, $this->policies->names(), true)) {
            return array_values(array_filter(
                $this->find($key, '', $guard),
                static fn (Found $one): bool => $one->policy === $policy,
            ));
        }
        $found = [
            ...$this->throughRoutes($key, $policy, $guard),
            ...$this->throughThrottles($key, $policy, $guard),
            ...$this->literally($key, $policy),
        ];
        $distinct = [];
        foreach ($found as $one) {
            $distinct[Key::of($one->key, $one->policy, (string) $one->limit)] ??= $one;
        }
        return array_values($distinct);
    }

    /** @return list<Found> */
    private function literally(string $key, string $policy): array
    {
        $names = $policy === '' ? [...$this->policies->names(), ...$this->namesOfRoutes()] : [$policy];
        if ($policy === Windows::NAME && $this->app->bound(Windows::class)) {
            $names = array_intersect($names, $this->policies->names());
        }
        $found = [];
        foreach ($names as $name) {
            if ($this->named->isDecidedByCode($name)) {
                // A key does not tell what it was, so it is not passed over in silence.
                self::isTyped($key) || $this->problems[] = "{$name} is decided by code: give user:ID or ip:ADDRESS";
                continue;
            }
            foreach ($this->named->parts($name) as $part) {
                $found[] = self::found($part['limit']->by($key), '', false);
                if (ctype_digit($name[0])) {
                    // Where it stands behind another spec.
                    $found[] = self::found($part['limit']->by($key)->named(Policies::nameOf($name)), '', false);
                }
            }
        }
        return $policy === '' ? [...$found, ...$this->ofRoutes($key)] : $found;
    }

    /** @return list<Found> what routes say by numbers and attributes */
    private function ofRoutes(string $key): array
    {
        $found = [];
        foreach ($this->table->routes() as $route) {
            try {
                $own = $this->routes->own($route);
                $parts = array_merge(...array_map($this->named->ownParts(...), $own));
            } catch (Throwable $problem) {
                $this->problems[] = RequestFacts::route($route) . ": {$problem->getMessage()}";
                continue;
            }
            foreach ($parts as $part) {
                $found[] = self::found($part['limit']->by($key), '', false);
            }
        }
        return $found;
    }

    private static function isTyped(string $key): bool
    {
        return preg_match(self::TYPED, $key) === 1;
    }

    /** @return list<string> specs, and names that code decides about, of all routes */
    private function namesOfRoutes(): array
    {
        $names = [];
        foreach ($this->table->routes() as $route) {
            $names = [...$names, ...array_filter(
                $this->routes->names($route),
                fn (string $name): bool => $name !== ''
                    && (ctype_digit($name[0]) || $this->named->isDecidedByCode($name)),
            )];
        }
        return array_values(array_unique($names));
    }

    /** @return list<Found> */
    private function throughRoutes(string $key, string $policy, string $guard): array
    {
        if (preg_match(self::TYPED, $key, $typed, PREG_UNMATCHED_AS_NULL) !== 1) {
            return [];
        }
        $found = [];
        foreach ($this->table->routes() as $route) {
            [$facts, $mark] = $this->facts($route, $typed, $guard);
            $names = $this->routes->names($route);
            $meant = array_filter(
                $names,
                fn (string $name): bool => $policy === '' || $this->named->meant($name) === $policy,
            );
            try {
                // The numbers of the route count wherever its policy does.
                $own = $policy === '' || $meant !== [] ? $this->routes->own($route) : [];
                $limits = $this->named->of(array_values($meant), $own, $facts, $this->request($route, $facts, $guard));
            } catch (Throwable $problem) {
                $this->problems[] = "{$facts->route}: {$problem->getMessage()}";
                continue;
            }
            foreach (is_array($limits) ? $limits : [] as $limit) {
                $one = self::found($limit, $facts->route, false);
                $isShared = !str_contains($one->key, $mark);
                $found[] = new Found($one->key, $limit, $one->policy, $facts->route, $isShared);
            }
        }
        return $found;
    }

    /**
     * What Laravel's own `throttle` counts on this engine.
     *
     * @return list<Found>
     */
    private function throughThrottles(string $key, string $policy, string $guard): array
    {
        $limiter = $this->app->bound(Windows::class) ? $this->app->make(LaravelRateLimiter::class) : null;
        if (!$limiter instanceof RateLimiter || !in_array($policy, ['', Windows::NAME], true)) {
            return [];
        }
        $windows = $limiter->windows();
        if (preg_match('/^(?:(user|ip):(.+))$/s', $key, $typed) !== 1) {
            // As the log has it; the number is not in it.
            return $policy === '' ? [] : [self::found($windows->limit(Windows::MOST)->by($key), '', false)];
        }
        $found = [];
        foreach ($this->table->routes() as $route) {
            [$facts] = $this->facts($route, [...$typed, null, null], $guard);
            $theirs = $this->request($route, $facts, $guard);
            $nobodys = $this->request($route, new Facts('', ''), $guard);
            foreach ($this->table->throttles($route) as $arguments) {
                try {
                    if ($facts->user !== null && $theirs->user() === null) {
                        throw new \ValueError("there is no user {$facts->user}");
                    }
                    $shared = array_column(Reading::of($limiter, $nobodys, $arguments), 'key');
                    foreach (Reading::of($limiter, $theirs, $arguments) as $one) {
                        $limit = $windows->limit($one->max, $one->seconds)->by($windows->key($one->key));
                        $found[] = self::found($limit, $facts->route, in_array($one->key, $shared, true));
                    }
                } catch (Throwable $problem) {
                    $this->problems[] = "{$facts->route}: {$problem->getMessage()}";
                }
            }
        }
        return $found;
    }

    /**
     * The facts of a request of theirs, and what marks a key as theirs.
     *
     * @param array<array-key, ?string> $typed
     * @return array{Facts, string}
     */
    private function facts(Route $route, array $typed, string $guard): array
    {
        [, $kind, $value, $field, $account] = $typed;
        $model = "auth.providers.{$this->provider($guard)}.model";
        $facts = new Facts(
            ip: $kind === 'ip' ? (string) $value : '',
            route: RequestFacts::route($route),
            user: $kind === 'user' ? (string) $value : null,
            method: (string) ($route->methods()[0] ?? 'GET'),
            input: static fn (string $asked): ?string => $asked === $field ? $account : null,
            realm: $kind === 'user' ? (string) $this->config->get($model) : '',
        );
        return [$facts, match ($kind) {
            'user', 'ip' => $facts->client(),
            default => $facts->account((string) $field),
        }];
    }

    /** A request for limits that code decides, by a plan for one. */
    private function request(Route $route, Facts $facts, string $guard): Request
    {
        $client = ['REMOTE_ADDR' => $facts->ip];
        $request = Request::create('/' . ltrim($route->uri(), '/'), $facts->method, server: $client);
        $request->setRouteResolver(static fn (): Route => $route);
        $request->setUserResolver(fn (): mixed => $facts->user === null ? null : $this->app->make(AuthManager::class)
            ->createUserProvider($this->provider($guard))
            ?->retrieveById($facts->user));
        return $request;
    }

    private function provider(string $guard): string
    {
        $guard = $guard === '' ? $this->config->get('auth.defaults.guard') : $guard;
        return (string) $this->config->get("auth.guards.{$guard}.provider");
    }

    private static function found(Limit $limit, string $route, bool $isShared): Found
    {
        $seen = NamedLimits::seen($limit);
        return new Found($seen->key ?? '', $limit, $seen->policy ?? '', $route, $isShared);
    }
}
