<?php

declare(strict_types=1);

namespace Sluice\Psr15;

use Psr\Http\Message\ServerRequestInterface;

/**
 * Where a request goes, as the routers of PSR-15 hosts leave it behind.
 */
final class Route
{
    /** What Slim and Mezzio call the attribute that holds the route. */
    private const ATTRIBUTES = ['__route__', 'route', 'Mezzio\Router\RouteResult'];

    /**
     * The name of the route, else its methods and pattern; empty where no router
     * has been yet, so that the whole application is one.
     */
    public static function of(ServerRequestInterface $request): string
    {
        foreach (self::ATTRIBUTES as $attribute) {
            $route = $request->getAttribute($attribute);
            if (!is_object($route)) {
                continue;
            }
            $name = self::ask($route, 'getName') ?? self::ask($route, 'getMatchedRouteName');
            if ($name !== null) {
                return $name;
            }
            $pattern = self::ask($route, 'getPattern');
            if ($pattern !== null) {
                return self::methods($route) . ' ' . $pattern;
            }
        }
        return '';
    }

    /** All of the route: the one of the request a client may choose, and would have a limit for each. */
    private static function methods(object $route): string
    {
        $methods = method_exists($route, 'getMethods') ? $route->getMethods() : [];
        return implode('|', is_array($methods) ? array_filter($methods, is_string(...)) : []);
    }

    private static function ask(object $route, string $method): ?string
    {
        $answer = method_exists($route, $method) ? $route->$method() : null;
        return is_string($answer) && $answer !== '' ? $answer : null;
    }
}
