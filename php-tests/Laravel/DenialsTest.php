<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

/** What is written down about a refusal, and how seldom. */
final class DenialsTest extends LaravelTestCase
{
    private const LISTENER = <<<'PHP'
        \Illuminate\Support\Facades\Event::listen(
            \Sluice\Laravel\Events\RequestDenied::class,
            fn ($denied) => file_put_contents(storage_path('events'), json_encode(unserialize(serialize($denied))->context) . "\n", FILE_APPEND),
        );
        PHP;

    public function testOneLineAndOneEventAKeyAndInterval(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->name('orders')->middleware('sluice:shop');", [
            'policies' => ['shop' => '1/m'],
            'log' => ['channel' => null, 'interval' => 3600],
        ], ['app/Providers/AppServiceProvider.php' => self::provider(self::LISTENER)])->serve(workers: 2);
        self::assertSame([200, 429, 429, 429, 429], self::statuses(5, $app, '/api/a?id=3', self::as('7')));
        self::assertSame([200, 429, 429], self::statuses(3, $app, '/api/a', self::as('8')));

        self::assertSame(2, substr_count($app->log(), 'Refused by a rate limit'));
        $events = array_map(
            static fn (string $line): array => json_decode($line, true),
            file($app->path('storage/events')) ?: [],
        );
        self::assertSame(['7', '8'], array_column($events, 'user'));
        $seen = $events[0];
        self::assertGreaterThan(50, $seen['retry_after']);
        unset($seen['retry_after'], $seen['key']);
        self::assertSame([
            'user' => '7', 'ip' => '127.0.0.1', 'route' => 'orders', 'remaining' => 0, 'capacity' => 1,
            'rate' => '1/m', 'uri' => '/api/a?id=3', 'method' => 'GET', 'policy' => 'shop', 'source' => 'shared-memory',
        ], $seen);
        // The key that the log has is the one that the commands take.
        self::assertStringContainsString(str_replace('\\', '\\\\', $events[0]['key']), stripslashes($app->log()) . $app->log());
    }

    public function testTheChannelCanBeAnotherOrNone(): void
    {
        $route = "Route::get('/a', fn () => 1)->middleware('sluice:deny');";
        $config = ['log' => ['channel' => false, 'interval' => 1]];
        $app = self::app($route, $config, ['app/Providers/AppServiceProvider.php' => self::provider(self::LISTENER)])->serve();
        self::assertSame([429], self::statuses(1, $app, '/api/a'));
        self::assertSame('', $app->log());
        self::assertFileExists($app->path('storage/events'), 'the event is another matter');

        $app = self::app($route, ['log' => ['channel' => 'limits']], ['config/logging.php' => <<<'PHP'
            <?php return ['default' => 'limits', 'channels' => ['limits' => [
                'driver' => 'single', 'path' => storage_path('logs/limits.log'),
            ]]];
            PHP])->serve();
        $app->get('/api/a');
        self::assertStringContainsString('Refused', (string) file_get_contents($app->path('storage/logs/limits.log')));
    }

    public function testInObserveModeEverythingPassesAndIsWrittenDown(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');")->serve(['sluice.mode' => 'observe']);
        self::assertSame([200, 200, 200], self::statuses(3, $app, '/api/a'));
        self::assertSame(1, substr_count($app->log(), 'Over the rate limit, let through'));
    }
}
