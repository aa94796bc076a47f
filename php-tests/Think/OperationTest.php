<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\ThinkApp;

/** Stores, logs, who is never limited, and what happens when something is missing. */
final class OperationTest extends ThinkTestCase
{
    public function testTheServiceIsFoundAndTheConfigurationPublished(): void
    {
        $app = ThinkApp::make();
        self::assertContains('Sluice\Think\SluiceService', include $app->path('vendor/services.php'));
        unlink($app->path('config/sluice.php'));
        self::assertSame(0, $app->think('vendor:publish')->exitCode);
        self::assertFileEquals(dirname(__DIR__, 2) . '/php/config/sluice-think.php', $app->path('config/sluice.php'));
        $app->serve();
        self::assertSame([200, 200, 429], self::statuses(3, static fn () => $app->get('/spec')));
    }

    public function testTwoApplicationsUnderOnePhpFpmDoNotCountTogether(): void
    {
        $ini = ['sluice.shm_path' => TempDir::make()->file('memory')];
        $app = static fn (string $prefix): ThinkApp => ThinkApp::make([
            'config/sluice.php' => self::config(['prefix' => $prefix]),
        ])->serve($ini);
        $statuses = static fn (string $prefix): array
            => self::statuses(3, static fn () => $app($prefix)->get('/spec'));
        self::assertSame([200, 200, 429], $statuses('shop'));
        self::assertSame([200, 200, 429], $statuses('blog'));
        self::assertSame([429, 429, 429], $statuses('shop'), 'the same on each of its hosts');
    }

    public function testARedisThatIsGoneIsNoOutage(): void
    {
        $redis = RedisServer::start();
        $app = ThinkApp::make(['config/sluice.php' => self::config(['store' => $redis->dsn()])])->serve(workers: 1);
        self::assertSame(200, $app->get('/spec')->status);
        $redis->stop();
        $statuses = self::statuses(4, static fn () => $app->get('/spec'));
        // The host counts by itself, and goes on from what it last heard.
        self::assertSame([200, 429], [$statuses[0], $statuses[3]]);
        self::assertStringNotContainsString('[error]', $app->log());
    }

    public function testTheStoreMayBeARedisOfConfigCache(): void
    {
        $redis = RedisServer::startOnPort();
        $cache = ['default' => 'counts', 'stores' => ['counts' => [
            'type' => 'redis', 'host' => '127.0.0.1', 'port' => $redis->port(), 'select' => 2, 'prefix' => 'shop:',
        ]]];
        $app = ThinkApp::make([
            'config/cache.php' => self::config($cache),
            'config/sluice.php' => self::config(['store' => 'counts']),
        ])->serve();
        self::assertSame([200, 200, 429], self::statuses(3, static fn () => $app->get('/spec')));
        $redis->command('SELECT', 2);
        self::assertCount(1, $redis->keys());
        self::assertStringStartsWith('shop:sluice:{', $redis->keys()[0]);
        $app->write('config/sluice.php', self::config(['store' => 'file']));
        self::assertSame(500, $app->get('/spec')->status);
        $app->waitForLog('"store" in config/sluice.php is "file", which is no redis store of config/cache.php');
    }

    public function testAnEntryOfTheWrongTypeIsTold(): void
    {
        $app = ThinkApp::make()->serve();
        foreach (
            [
                '"store" in config/sluice.php must be null, "shared", a DSN' => ['store' => 7],
                '"policies" in config/sluice.php must be an array, not string' => ['policies' => '5/h'],
                '"log.channel" in config/sluice.php must be the name of a channel' => ['log' => ['channel' => ['a']]],
                '"log.interval" in config/sluice.php must be a number of seconds above 0, not string' => [
                    'log' => ['interval' => 'often'],
                ],
            ] as $told => $config
        ) {
            $app->write('config/sluice.php', self::config($config));
            self::assertSame(500, $app->get('/spec')->status);
            $app->waitForLog($told);
        }
    }

    public function testADenialIsLoggedOnceAndHeardOfByListeners(): void
    {
        $app = ThinkApp::make([
            'app/event.php' => '<?php use Sluice\Think\Event\RequestDenied;'
                . ' return ["listen" => [RequestDenied::class => ["app\Listener"]]];',
            'app/Listener.php' => '<?php namespace app; class Listener { public function handle($event): void'
                . ' { file_put_contents(root_path() . "heard", json_encode($event->verdict->context())'
                . ' . "\n", FILE_APPEND); } }',
        ])->serve();
        self::assertSame([200, 200, 429, 429, 429], self::statuses(5, static fn () => $app->get('/spec?a=1')));
        $app->waitForLog('Refused by a rate limit');
        self::assertSame(1, substr_count($app->log(), 'Refused by a rate limit'));
        self::assertMatchesRegularExpression(
            '~Refused by a rate limit \{"key":"[^"]*127\.0\.0\.1[^"]*","ip":"127\.0\.0\.1","route":"shop/index",'
            . '"remaining":0,"capacity":2,"rate":"2/h","uri":"/[^"]*a=1","method":"GET",~',
            $app->log(),
        );
        $heard = array_filter(explode("\n", (string) file_get_contents($app->path('heard'))));
        self::assertCount(1, $heard);
        $context = json_decode($heard[0], true);
        self::assertSame(
            ['192.0.2.1', 'shop/index', 0, 2, '2/h', 'GET'],
            [
                $context['ip'] === '127.0.0.1' ? '192.0.2.1' : '', $context['route'], $context['remaining'],
                $context['capacity'], $context['rate'], $context['method'],
            ],
        );
    }

    public function testWhoIsOnTheAllowListIsNeverLimited(): void
    {
        $allow = ['networks' => ['198.51.100.0/24'], 'users' => [7]];
        $app = ThinkApp::make([
            'config/sluice.php' => '<?php return ["user" => fn ($request) => $request->get("id"), "policies" => '
                . '["five-an-hour" => "5/h"], "allow" => ' . var_export($allow, true) . '];',
        ])->serve();
        $inside = static fn () => $app->get('/spec', ip: '198.51.100.7');
        self::assertSame([200, 200, 200, 200], self::statuses(4, $inside));
        self::assertSame([200, 200, 200, 200], self::statuses(4, static fn () => $app->get('/spec?id=7')));
        self::assertSame([200, 200, 429], self::statuses(3, static fn () => $app->get('/spec?id=8')));
        self::assertSame(200, $app->get('/spec?id=9')->status, 'two users never share a count');
        // Nor by a driver of its own.
        self::assertSame([200, 200, 200], self::statuses(3, static fn () => $app->get('/driver?id=7')));
        $app->waitForLog('Passed the rate limits by the allow list');
    }

    public function testWhatIsProbablyNotMeantIsToldOnce(): void
    {
        $app = ThinkApp::make([
            'app/middleware.php' => '<?php return [Sluice\Think\Throttle::class];',
            'config/throttle.php' => self::config([
                'key' => '__CONTROLLER__/__ACTION__/__IP__', 'visit_rate' => '50/h', 'visit_method' => ['GET'],
            ]),
        ])->serve();
        self::assertSame([200, 200], self::statuses(2, static fn () => $app->get('/plain')));
        $app->request('POST', '/forgotten');
        $app->request('POST', '/forgotten');
        $app->get('/typo');
        foreach (
            [
                'A key has __CONTROLLER__ or __ACTION__ in it, and there is no controller',
                'A rate was given at the route of shop/index, and a request went without it',
                'The middleware was given "vist_rate", which means nothing to it',
            ] as $warning
        ) {
            $app->waitForLog($warning);
            self::assertSame(1, substr_count($app->log(), $warning), $warning);
        }
    }

    public function testObserveModeLetsThrough(): void
    {
        $app = ThinkApp::make()->serve(['sluice.mode' => 'observe']);
        self::assertSame([200, 200, 200, 200], self::statuses(4, static fn () => $app->get('/spec')));
        $app->waitForLog('Over the rate limit, let through');
    }

    public function testWithoutTheExtension(): void
    {
        $ask = <<<'PHP'
            $app = new think\App();
            $request = $app->make('request', [], true)
                ->withServer(['REMOTE_ADDR' => '192.0.2.1', 'REQUEST_METHOD' => 'GET'])
                ->setUrl('/spec')->setBaseUrl('/spec')->setPathinfo('spec');
            $response = $app->http->run($request);
            $says = str_contains($response->getContent(), 'is not loaded, so nothing can be limited');
            echo json_encode([$response->getCode(), $says]);
            $app->http->end($response);
            PHP;
        $app = ThinkApp::make(['.env' => "APP_DEBUG = true\n"]);
        self::assertSame([500, true], $app->codeWithoutTheExtension($ask)->json());
        $app->write('config/sluice.php', self::config([
            'without_extension' => true, 'trusted_proxies' => ['10.0.0.0/8'], 'allow' => ['networks' => ['10.0.0.0/8']],
        ]));
        self::assertSame([200, false], $app->codeWithoutTheExtension($ask)->json());
        $app->waitForLog('NOTHING IS LIMITED, every request passes');
        $app->write('.env', "APP_DEBUG = false\n");
        self::assertSame(500, $app->codeWithoutTheExtension($ask)->json()[0], 'never in production');
    }
}
