<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Closure;
use Illuminate\Container\Container;
use Illuminate\Contracts\Config\Repository;
use Illuminate\Contracts\Events\Dispatcher;
use Illuminate\Contracts\Http\Kernel;
use Illuminate\Routing\Events\RouteMatched;
use Illuminate\Routing\Router;
use Illuminate\Support\ServiceProvider;
use RuntimeException;
use Sluice\Http\AllowList;
use Sluice\Http\DenialLog;
use Sluice\Http\Facts;
use Sluice\Http\Guard;
use Sluice\Http\Policies;
use Sluice\Http\Verdict;
use Sluice\Limiter;
use Sluice\RateLimiter;
use Sluice\Store;
use Sluice\Testing\FollowingLimiter;

/**
 * Sluice in Laravel 8 to 13; discovered by Composer.
 *
 * What it binds lives as long as the worker and knows nothing of a request.
 */
final class SluiceServiceProvider extends ServiceProvider
{
    private const CONFIG = __DIR__ . '/../../config/sluice.php';

    public function register(): void
    {
        $this->mergeConfigFrom(self::CONFIG, 'sluice');

        $this->app->singleton(Policies::class, fn (): Policies => new Policies($this->settings()->policies()));
        $this->app->singleton(NamedLimits::class, fn (Container $app): NamedLimits => new NamedLimits(
            $app->make(Policies::class),
            $this->settings()->defaultPolicy(),
        ));
        $this->app->singleton(RouteLimits::class, fn (Container $app): RouteLimits => new RouteLimits(
            $app->make(Router::class),
            $this->settings()->groups(),
        ));
        // In tests it follows the time that they set.
        $this->app->singleton(RateLimiter::class, fn (): RateLimiter => $this->app->runningUnitTests()
            ? new FollowingLimiter(new Limiter())
            : new Limiter());
        $this->app->singleton(Guard::class, $this->guard(...));

        if ($this->settings()->dropIn()) {
            DropIn::register($this->app);
        }
    }

    public function boot(Router $router): void
    {
        $this->publishes([self::CONFIG => $this->app->configPath('sluice.php')], 'sluice-config');
        if ($this->app->runningInConsole()) {
            $this->commands([
                Console\RoutesCommand::class,
                Console\WhyCommand::class,
                Console\ResetCommand::class,
            ]);
        }
        $this->choosePrefix($this->settings()->prefix());
        $this->chooseStore($this->settings()->store());

        $router->aliasMiddleware('sluice', LimitRequests::class);
        $this->callAfterResolving(Kernel::class, function (Kernel $kernel) use ($router): void {
            MiddlewarePlace::take($kernel, $router, $this->settings()->groups());
        });
        $this->app->make(Dispatcher::class)->listen(RouteMatched::class, static function (RouteMatched $matched): void {
            Container::getInstance()->make(RouteLimits::class)->prepare($matched->route);
        });
    }

    /** Applications that share a php-fpm, or a Redis, must not share counts. */
    private function choosePrefix(string $prefix): void
    {
        if ($prefix !== '' && extension_loaded('sluice')) {
            // One that the pool has fixed stays: whoever fixed it has seen to it.
            @ini_set('sluice.prefix', "sluice:{$prefix}:");
        }
    }

    /**
     * Makes the configured store the default of PHP, so that every limiter of
     * the application asks it, and a fake takes its place in tests.
     */
    private function chooseStore(#[\SensitiveParameter] ?string $store): void
    {
        if ($store === null || !extension_loaded('sluice')) {
            return;
        }
        $dsn = match (true) {
            $store === 'shared' => '',
            str_contains($store, '://') => $store,
            default => RedisDsn::of($store, $this->redis()),
        };
        if (@ini_set('sluice.store', $dsn) === false) {
            // A DSN that is none says here what is wrong with it.
            new Limiter($dsn === '' ? null : $dsn);
            throw new RuntimeException(
                'sluice.store of config/sluice.php cannot be set: php_admin_value has fixed it; make it null'
            );
        }
    }

    /** @return array<string, mixed> the connections of config/database.php */
    private function redis(): array
    {
        /** @var array<string, mixed> $redis */
        $redis = $this->app->make(Repository::class)->get('database.redis') ?? [];
        return $redis;
    }

    private function guard(Container $app): Guard
    {
        $settings = $this->settings();
        $log = Log::channel($settings->logChannel());
        return new Guard(
            $app->make(RateLimiter::class),
            new AllowList(
                $settings->allowedUsers(),
                $settings->allowedNetworks(),
                self::callback($settings->allowCallback()),
            ),
            new DenialLog(
                $log,
                $settings->logInterval(),
                static function (Verdict $verdict): void {
                    $denied = new Events\RequestDenied($verdict->context());
                    Container::getInstance()->make(Dispatcher::class)->dispatch($denied);
                },
                // In tests a fake forgets them, and each test has its own.
                $this->app->runningUnitTests() ? $app->make(RateLimiter::class) : new Limiter(Store::sharedMemory()),
            ),
            $log,
        );
    }

    /** @return (Closure(Facts): bool)|null */
    private static function callback(?string $class): ?Closure
    {
        return $class === null ? null : static function (Facts $facts) use ($class): bool {
            /** @var mixed $callback */
            $callback = Container::getInstance()->make($class);
            return is_callable($callback) && $callback($facts);
        };
    }

    private function settings(): Settings
    {
        return $this->app->make(Settings::class);
    }
}
