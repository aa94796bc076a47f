<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Illuminate\Contracts\Auth\Authenticatable;
use Illuminate\Contracts\Auth\Factory;
use Illuminate\Contracts\Config\Repository;
use Illuminate\Contracts\Container\Container;
use Illuminate\Http\Request;
use Illuminate\Routing\Route;
use Sluice\Http\Facts;

/**
 * What a limit may know of a Laravel request.
 */
final class RequestFacts
{
    /**
     * The address is the framework's: `X-Forwarded-For` counts only behind the
     * proxies that the application trusts.
     */
    public static function of(Request $request): Facts
    {
        /** @var Authenticatable|null $user */
        $user = $request->user();
        return self::with($request, $user);
    }

    /**
     * The same, but no user is looked up for it who was not asked for before,
     * unless the allow list wants to know: for what must not add a query.
     */
    public static function ofKnown(Request $request, Container $app): Facts
    {
        /** @var Repository $config */
        $config = $app->make('config');
        $allow = $config->get('sluice.allow', []);
        if (($allow['users'] ?? []) !== [] || ($allow['callback'] ?? null) !== null) {
            return self::of($request);
        }
        $guard = $app->resolved('auth') ? $app->make(Factory::class)->guard() : null;
        $known = $guard !== null && method_exists($guard, 'hasUser') && $guard->hasUser();
        return self::with($request, $known ? $guard->user() : null);
    }

    /** @param Authenticatable|null $user */
    private static function with(Request $request, ?object $user): Facts
    {
        $route = $request->route();
        $identifier = $user?->getAuthIdentifier();
        return new Facts(
            ip: (string) $request->ip(),
            // Before routing there is no template, and the URI itself would
            // give each id a limit of its own.
            // @mago-ignore analysis:redundant-condition - Laravel's docblock forgets that it may be null.
            route: $route instanceof Route ? self::route($route) : '',
            user: $identifier === null ? null : (string) $identifier,
            method: $request->getMethod(),
            uri: $request->getRequestUri(),
            input: static fn (string $field): mixed => $request->input($field),
            realm: $user === null || $identifier === null ? '' : $user::class,
        );
    }

    /** The route's name; else its methods and URI template. */
    public static function route(Route $route): string
    {
        $name = (string) $route->getName();
        // The route cache makes up names, new ones each time; and all unnamed
        // routes of a group with a name have that name, which ends with a dot.
        if ($name !== '' && !str_starts_with($name, 'generated::') && !str_ends_with($name, '.')) {
            return $name;
        }
        return self::methods($route) . ' ' . ($route->getDomain() ?? '') . '/' . ltrim($route->uri(), '/');
    }

    /** Its methods, as in `GET|HEAD`. */
    public static function methods(Route $route): string
    {
        /** @var list<string> $methods */
        $methods = $route->methods();
        return implode('|', $methods);
    }
}
