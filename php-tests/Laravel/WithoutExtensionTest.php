<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

/** A machine on which the extension is not loaded. */
final class WithoutExtensionTest extends LaravelTestCase
{
    private const SEND = <<<'PHP'
        $kernel = $app->make(Illuminate\Contracts\Http\Kernel::class);
        $statuses = [];
        for ($request = 0; $request < 3; $request++) {
            $statuses[] = $kernel->handle(Illuminate\Http\Request::create('/api/a'))->getStatusCode();
        }
        $job = (new Sluice\Laravel\Jobs\RateLimited('1/m'))->handle(new stdClass(), fn () => 'ran');
        echo json_encode([extension_loaded('sluice'), $statuses, $job]);
        PHP;

    public function testEverythingPassesLoudlyIfItWasSaidSo(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');", [
            'without_extension' => true, 'groups' => ['api' => 'tiers'], 'store' => 'default',
        ], [], ['APP_ENV' => 'local']);
        self::assertSame([false, [200, 200, 200], 'ran'], $app->codeWithoutTheExtension(self::SEND)->json());
        self::assertSame(1, substr_count($app->log(), 'NOTHING IS LIMITED'));
    }

    public function testNeverInProductionAndNotUnlessItWasSaid(): void
    {
        $route = "Route::get('/a', fn () => 1)->middleware('sluice:1/m');";
        foreach ([['production', true], ['local', false]] as [$environment, $letThrough]) {
            $app = self::app($route, ['without_extension' => $letThrough], [], ['APP_ENV' => $environment]);
            $result = $app->codeWithoutTheExtension(self::SEND);
            self::assertStringContainsString('The PHP extension "sluice" is not loaded', $app->log() . $result->stderr);
            self::assertStringNotContainsString('200', $result->stdout);
        }
    }

    public function testTheCommandLineStillWorks(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');");
        $code = 'exit($app->make(Illuminate\Contracts\Console\Kernel::class)->call("route:list"));';
        self::assertSame(0, $app->codeWithoutTheExtension($code)->exitCode);
        $code = '$kernel = $app->make(Illuminate\Contracts\Console\Kernel::class);'
            . 'echo json_encode([$kernel->call("sluice:routes"), $kernel->output()]);';
        [$exit, $output] = $app->codeWithoutTheExtension($code)->json();
        self::assertSame(1, $exit);
        self::assertStringContainsString('The PHP extension "sluice" is not loaded in the PHP of the command line.', $output);
    }
}
