<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Closure;
use Illuminate\Contracts\Auth\Middleware\AuthenticatesRequests;
use Illuminate\Contracts\Http\Kernel;
use Illuminate\Foundation\Http\Kernel as FoundationKernel;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Illuminate\Routing\Router;

/**
 * Where the middleware stands: at throttle's place in the priority, and in the
 * groups that have a policy.
 */
final class MiddlewarePlace
{
    /** @param array<string, string> $groups policies by the name of the group */
    public static function take(Kernel $kernel, Router $router, array $groups): void
    {
        self::prioritize($kernel, $router);
        foreach ($groups as $group => $policy) {
            if (!$router->hasMiddlewareGroup($group)) {
                continue;
            }
            // Through the kernel, which writes its own lists over the router's.
            $middleware = LimitRequests::class . ':' . $policy;
            $kernel instanceof FoundationKernel
                ? $kernel->appendMiddlewareToGroup($group, $middleware)
                : $router->pushMiddlewareToGroup($group, $middleware);
        }
    }

    private static function prioritize(Kernel $kernel, Router $router): void
    {
        $priority = array_values($router->middlewarePriority);
        if (in_array(LimitRequests::class, $priority, true)) {
            return;
        }
        $throttle = array_search(ThrottleRequests::class, $priority, true);
        $authentication = array_search(AuthenticatesRequests::class, $priority, true);
        array_splice($priority, match (true) {
            is_int($throttle) => $throttle,
            is_int($authentication) => $authentication + 1,
            default => count($priority),
        }, 0, [LimitRequests::class]);

        /** @var list<string> $priority */
        $router->middlewarePriority = $priority;
        if ($kernel instanceof FoundationKernel) {
            // Versions before 11 have no method for it.
            method_exists($kernel, 'setMiddlewarePriority')
                ? $kernel->setMiddlewarePriority($priority)
                : Closure::bind(
                    fn (): array => $this->middlewarePriority = $priority,
                    $kernel,
                    FoundationKernel::class,
                )();
        }
    }
}
