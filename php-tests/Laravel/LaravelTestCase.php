<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\LaravelApp;
use Sluice\Tests\Support\TestCase;

/** Applications with routes and limits of the test's own. */
abstract class LaravelTestCase extends TestCase
{
    protected const JSON = ['Accept' => 'application/json'];

    /**
     * @param string $routes for routes/api.php, under /api
     * @param array<string, mixed> $config for config/sluice.php
     * @param array<string, string> $files more of the application
     * @param array<string, string|int|bool> $env
     */
    protected static function app(string $routes, array $config = [], array $files = [], array $env = []): LaravelApp
    {
        $uses = "use Illuminate\\Http\\Request;\nuse Illuminate\\Support\\Facades\\Route;\n"
            . "use Sluice\\Laravel\\RateLimit;\nuse Sluice\\Limit;\nuse Sluice\\Limiter;\n";
        return LaravelApp::make($env, $files + [
            'routes/api.php' => "<?php\n{$uses}\n{$routes}\n",
            'config/sluice.php' => '<?php return ' . var_export($config + ['groups' => []], true) . ";\n",
        ]);
    }

    /**
     * @param array<string, string> $headers
     * @return list<int>
     */
    protected static function statuses(int $times, LaravelApp $app, string $target, array $headers = []): array
    {
        return array_map(static fn (): int => $app->get($target, $headers + self::JSON)->status, range(1, $times));
    }

    /** @return array<string, string> */
    protected static function as(string $user): array
    {
        return self::JSON + ['Authorization' => "Bearer {$user}"];
    }

    /** A provider of the application whose boot() runs this code. */
    protected static function provider(string $boot): string
    {
        $original = file_get_contents(dirname(__DIR__) . '/Apps/laravel/app/Providers/AppServiceProvider.php');
        return str_replace(
            "    public function boot(): void\n    {\n",
            "    public function boot(): void\n    {\n        {$boot}\n",
            $original,
        );
    }

    /** Runs the tests that the application has in its own directory `tests`. */
    protected static function assertTestsPass(int $count, LaravelApp $app): void
    {
        $app->write('tests/TestCase.php', <<<'PHP'
            <?php
            namespace Tests;
            abstract class TestCase extends \Illuminate\Foundation\Testing\TestCase
            {
                public function createApplication()
                {
                    $app = require __DIR__ . '/../bootstrap/app.php';
                    $app->make(\Illuminate\Contracts\Console\Kernel::class)->bootstrap();
                    return $app;
                }
            }
            PHP);
        $app->write('phpunit.xml', '<phpunit bootstrap="tests/bootstrap.php" failOnWarning="true"><testsuites>'
            . '<testsuite name="all"><directory>tests</directory></testsuite></testsuites>'
            . '<php><env name="APP_ENV" value="testing"/></php></phpunit>');
        $app->write('tests/bootstrap.php', '<?php chdir(dirname(__DIR__)); require "vendor/autoload.php"; require __DIR__ . "/TestCase.php";');
        $result = $app->phpunit();
        self::assertSame(0, $result->exitCode, $result->stdout . $result->stderr . $app->log());
        // PHPUnit 11 has something to say of the error handlers of Laravel 10.
        self::assertMatchesRegularExpression(
            "/^OK \\({$count} tests|^OK, but there were issues!\nTests: {$count},/m",
            $result->stdout,
        );
    }
}
