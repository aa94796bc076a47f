<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Contracts\Config\Repository;
use Illuminate\Contracts\Container\Container;
use Illuminate\Redis\Limiters\DurationLimiter as LaravelDurationLimiter;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use Illuminate\Routing\Middleware\ThrottleRequestsWithRedis as LaravelThrottleRequestsWithRedis;
use Illuminate\Support\Facades\RateLimiter as RateLimiterFacade;
use Sluice\RateLimiter;

/**
 * Puts the engine under Laravel's own rate limiting: `throttle` on routes, the
 * `RateLimiter` facade, the job middleware `RateLimited` and
 * `ThrottlesExceptions`, logins, the exception handler. Their Redis twins and
 * `Redis::throttle()` too.
 *
 * Nothing of an application has to change: the classes it names stay, and with
 * them throttle's place in the middleware priority.
 */
final class DropIn
{
    /** @param Container $app with `config`, and {@see RateLimiter} bound to what is asked */
    public static function register(Container $app): void
    {
        // Laravel's own can do without the extension.
        if ($app->make(Presence::class)->isDispensable()) {
            return;
        }
        $app->singleton(Throttle\Windows::class, static function (Container $app): Throttle\Windows {
            $app->make(Presence::class)->limits();
            /** @var Repository $config */
            $config = $app->make('config');
            return new Throttle\Windows($app->make(RateLimiter::class), (string) $config->get('cache.prefix', ''));
        });
        // Extended, not bound: the provider that binds Laravel's is deferred and
        // may come later. Whatever was named before stays named.
        $app->extend(
            LaravelRateLimiter::class,
            static fn (LaravelRateLimiter $theirs, Container $app): Throttle\RateLimiter =>
                Throttle\RateLimiter::inPlaceOf(
                    $theirs,
                    static fn (): Throttle\Windows => $app->make(Throttle\Windows::class),
                ),
        );
        RateLimiterFacade::clearResolvedInstance(LaravelRateLimiter::class);
        $app->bind(LaravelThrottleRequests::class, Throttle\ThrottleRequests::class);
        $app->bind(LaravelThrottleRequestsWithRedis::class, Throttle\ThrottleRequestsWithRedis::class);
        self::replaceDurationLimiter();
    }

    /**
     * What throttles by Redis makes this class by `new`, so that no container is
     * asked: ours has to be there first. Where theirs is loaded, as by
     * preloading, it stays.
     */
    private static function replaceDurationLimiter(): void
    {
        static $done = false;
        // @mago-ignore analysis:impossible-condition - it is true from the second call on.
        if ($done) {
            return;
        }
        $done = true;
        spl_autoload_register(static function (string $class): void {
            if ($class === LaravelDurationLimiter::class) {
                class_alias(Throttle\DurationLimiter::class, $class);
            }
        }, prepend: true);
    }
}
