<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;

/** `sluice.store`: where the counts are, and what happens while they cannot be asked. */
final class StoreTest extends LaravelTestCase
{
    private const ROUTE = "Route::get('/a', fn () => (new Limiter())->peek('k', '5/m')->source->value)->middleware('sluice:2/m');";

    public function testIsThatOfPhpIniUnlessItIsNamed(): void
    {
        $server = RedisServer::start();
        $ini = ['sluice.store' => $server->dsn()];
        self::assertSame('redis', self::app(self::ROUTE)->serve($ini)->get('/api/a')->body);
        self::assertSame('shared-memory', self::app(self::ROUTE, ['store' => 'shared'])->serve($ini)->get('/api/a')->body);
        self::assertSame('redis', self::app(self::ROUTE, ['store' => $server->dsn()])->serve()->get('/api/a')->body);
    }

    public function testIsAConnectionOfTheConfigurationWithItsLoginDatabaseAndPrefix(): void
    {
        $server = RedisServer::startOnPort('p@ss/w:rd?#%');
        $app = self::app(self::ROUTE, ['store' => 'default'], [], [
            'REDIS_HOST' => '127.0.0.1', 'REDIS_PORT' => $server->port(), 'REDIS_PASSWORD' => 'p@ss/w:rd?#%',
            'REDIS_DB' => 3, 'REDIS_PREFIX' => 'app_',
        ])->serve(['sluice.timeout' => '10s']);
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/a'));
        $code = 'echo json_encode((new Sluice\Limiter())->peek("k", "5/m")->source);';
        self::assertSame('redis', $app->code($code, ['sluice.timeout' => '10s'])->json());
        $server->command('SELECT', 3);
        self::assertNotSame([], $server->keys());
        self::assertSame([], preg_grep('/^app_sluice:/', $server->keys(), PREG_GREP_INVERT));
        self::assertStringNotContainsString('p@ss', $app->log());

        $socket = self::app(self::ROUTE, ['store' => 'default'], [], [
            'REDIS_HOST' => RedisServer::start()->socket(), 'REDIS_PORT' => -1,
        ])->serve(['sluice.timeout' => '10s']);
        self::assertSame('redis', $socket->get('/api/a')->body);
    }

    public function testTwoApplicationsUnderOnePhpFpmDoNotCountTogether(): void
    {
        $memory = TempDir::make();
        $ini = ['sluice.shm_path' => $memory->file('memory')];
        $shop = self::app(self::ROUTE, [], [], ['APP_NAME' => 'Shop'])->serve($ini, workers: 1);
        $blog = self::app(self::ROUTE, [], [], ['APP_NAME' => 'Blog'])->serve($ini, workers: 1);
        self::assertSame([200, 200, 429], self::statuses(3, $shop, '/api/a'));
        self::assertSame([200, 200, 429], self::statuses(3, $blog, '/api/a'));
        $host = self::app(self::ROUTE, [], [], ['APP_NAME' => 'Shop'])->serve($ini, workers: 1);
        self::assertSame([429], self::statuses(1, $host, '/api/a'), 'one application on several hosts or pools');
    }

    public function testWhatIsNoStoreSaysSoAndPrintsNoPassword(): void
    {
        $wrongs = [
            'nope' => 'has no Redis connection \"nope\"; sluice.store is null, \"shared\", a DSN',
            'http://:s3cret@host' => 'must be a DSN',
        ];
        foreach ($wrongs as $store => $message) {
            $app = self::app(self::ROUTE, ['store' => $store])->serve();
            self::assertSame(500, $app->get('/api/a')->status);
            self::assertStringContainsString($message, $app->log());
            self::assertStringNotContainsString('s3cret', $app->log());
        }
    }

    public function testWhatThePoolHasFixedIsNotChangedInSilence(): void
    {
        $app = self::app(self::ROUTE, ['store' => 'redis://127.0.0.1:1'])->serve(
            directives: ['php_admin_value[sluice.store]' => '"redis://127.0.0.1:2"'],
        );
        self::assertSame(500, $app->get('/api/a')->status);
        self::assertStringContainsString('php_admin_value has fixed it', $app->log());
    }

    public function testWhileRedisIsGoneNobodySeesAnError(): void
    {
        $server = RedisServer::start();
        $config = ['store' => "unix://{$server->socket()}", 'groups' => ['api' => 'tiers']];
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:2/m');", $config)->serve(workers: 1);
        self::assertSame([200], self::statuses(1, $app, '/api/a'));
        $server->stop();
        // This host counts by itself, from here on.
        $statuses = self::statuses(5, $app, '/api/a');
        self::assertSame([], array_diff($statuses, [200, 429]), implode(' ', $statuses));
        self::assertSame(429, end($statuses));
        $server->launch();
        self::assertContains($app->get('/api/a')->status, [200, 429]);
        self::assertStringNotContainsString('ERROR', $app->log());
    }
}
