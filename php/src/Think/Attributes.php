<?php

declare(strict_types=1);

namespace Sluice\Think;

use ReflectionAttribute;
use ReflectionClass;
use ReflectionMethod;
use think\App;
use think\Request;
use think\route\RuleItem;

/**
 * The attributes {@see RateLimit} of the action that a request was routed to, and
 * those of think-throttle.
 */
final class Attributes
{
    /** Theirs; where it is not installed, another name of ours. */
    private const OF_THINK_THROTTLE = 'think\middleware\annotation\RateLimit';

    /**
     * Each with the class or action that it stands at, as it is declared: a client
     * may write its name in upper or lower case.
     *
     * @return list<array{RateLimit, string}>
     */
    public static function of(App $app, Request $request): array
    {
        return self::ofAction(...self::action($app, $request));
    }

    /**
     * The same for an action by its class and method; an empty method is none.
     *
     * @return list<array{RateLimit, string}>
     */
    public static function ofAction(string $class, string $action): array
    {
        if (!class_exists($class)) {
            return [];
        }
        $reflection = new ReflectionClass($class);
        $found = self::at($reflection, $reflection->getName());
        if ($action !== '' && $reflection->hasMethod($action)) {
            $method = $reflection->getMethod($action);
            array_push($found, ...self::at($method, $reflection->getName() . '::' . $method->getName()));
        }
        return $found;
    }

    /** @return array{string, string} class and method; empty before the routing, and for a closure */
    private static function action(App $app, Request $request): array
    {
        $controller = $request->controller();
        if ($controller !== '') {
            return self::ofController($app, $controller, $request->action());
        }
        $rule = $request->rule();
        return $rule instanceof RuleItem ? self::ofRoute($rule->getRoute()) : ['', ''];
    }

    /** @return array{string, string} */
    private static function ofController(App $app, string $controller, string $action): array
    {
        /** @var array{controller_suffix?: bool, controller_layer?: string, action_suffix?: string} $route */
        $route = $app->config->get('route', []);
        $suffix = ($route['controller_suffix'] ?? false) ? 'Controller' : '';
        $layer = ($route['controller_layer'] ?? '') ?: 'controller';
        return [$app->parseClass($layer, $controller . $suffix), $action . ($route['action_suffix'] ?? '')];
    }

    /**
     * Of a route that leads to a class: `[Shop::class, 'item']`, `app\Shop@item`.
     *
     * @return array{string, string}
     */
    private static function ofRoute(mixed $route): array
    {
        $parts = is_string($route) ? preg_split('/@|::/', $route) : $route;
        return is_array($parts) && is_string($parts[0] ?? null) && is_string($parts[1] ?? null)
            ? [ltrim($parts[0], '\\'), $parts[1]]
            : ['', ''];
    }

    /**
     * @param ReflectionClass<object>|ReflectionMethod $reflection
     * @return list<array{RateLimit, string}>
     */
    private static function at(ReflectionClass|ReflectionMethod $reflection, string $place): array
    {
        $found = [];
        /** @var list<ReflectionAttribute<object>> $attributes */
        $attributes = $reflection->getAttributes();
        foreach ($attributes as $attribute) {
            if (in_array($attribute->getName(), [RateLimit::class, self::OF_THINK_THROTTLE], true)) {
                $found[] = [self::ours($attribute), $place];
            }
        }
        return $found;
    }

    /** @param ReflectionAttribute<object> $attribute of ours or of think-throttle */
    private static function ours(ReflectionAttribute $attribute): RateLimit
    {
        /** @var RateLimit|object{rate: string, key: bool|string|array{class-string, string}, driver: string, message: string} $limit */
        $limit = $attribute->newInstance();
        return $limit instanceof RateLimit
            ? $limit
            : new RateLimit($limit->rate, $limit->key, $limit->driver, $limit->message);
    }
}
