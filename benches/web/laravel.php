<?php

declare(strict_types=1);

// Laravel applications for the benchmark: the one of the tests, with its
// configuration cached as on a real server.

use Sluice\Tests\Support\LaravelApp;
use Sluice\Tests\Support\Running;

const LARAVEL_NEEDS = ['ctype', 'fileinfo', 'iconv', 'igbinary', 'mbstring', 'pdo', 'phar', 'posix', 'redis', 'tokenizer'];

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Sluice\\Tests\\')) {
        require dirname(__DIR__, 2) . '/php-tests/' . strtr(substr($class, strlen('Sluice\\Tests\\')), '\\', '/') . '.php';
    }
});

/** @return array<string, string> the scripts that take their requests */
function laravelApps(string $extension, string $redis): array
{
    putenv("SLUICE_SO=$extension");
    register_shutdown_function([Running::class, 'stopAll']);
    $environments = [
        'plain' => ['CACHE_DRIVER' => 'redis'],
        'file' => ['CACHE_DRIVER' => 'file'],
        'dropin' => ['CACHE_DRIVER' => 'redis', 'SLUICE_DROP_IN' => true],
    ];
    $scripts = [];
    foreach ($environments as $name => $environment) {
        $app = LaravelApp::make(
            $environment + ['REDIS_HOST' => $redis, 'REDIS_PORT' => 0, 'APP_DEBUG' => false, 'LOG_CHANNEL' => 'null'],
            ['routes/api.php' => laravelRoutes($name)],
        );
        $cached = $app->artisan('config:cache');
        if ($cached->exitCode !== 0) {
            fwrite(STDERR, "artisan config:cache: $cached->stdout$cached->stderr\n");
            exit(1);
        }
        $scripts[$name] = $app->path('public/index.php');
    }
    return $scripts;
}

function laravelRoutes(string $prefix): string
{
    return <<<PHP
        <?php

        use Illuminate\Routing\Middleware\ThrottleRequestsWithRedis;
        use Illuminate\Support\Facades\Route;

        Route::prefix('$prefix')->group(function () {
            \$limited = [
                'throttle/open' => 'throttle:10000000,60,open',
                'throttle/full' => 'throttle:1,60,full',
                'throttle-redis/open' => ThrottleRequestsWithRedis::class . ':10000000,60,open',
                'throttle-redis/full' => ThrottleRequestsWithRedis::class . ':1,60,full',
                'sluice/open' => 'sluice:10000000/h',
                'sluice/full' => 'sluice:1/h',
            ];
            Route::get('none', fn () => 'ok');
            foreach (\$limited as \$path => \$middleware) {
                Route::get(\$path, fn () => 'ok')->middleware(\$middleware);
            }
        });
        PHP;
}
