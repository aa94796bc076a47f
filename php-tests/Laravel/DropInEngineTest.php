<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\Checkout;
use Sluice\Tests\Support\LaravelApp;
use Sluice\Tests\Support\RedisServer;

/** What the engine gives to applications that only know Laravel's throttle. */
final class DropInEngineTest extends LaravelTestCase
{
    /** A limiter of three limits, by the address and by parts of the query. */
    private const THREE = <<<'PHP'
        Illuminate\Support\Facades\RateLimiter::for('three', fn (Request $request) => [
            Illuminate\Cache\RateLimiting\Limit::perMinute(2)->by("a:{$request->query('a')}"),
            Illuminate\Cache\RateLimiting\Limit::perMinute(9)->by("b:{$request->query('b')}"),
            Illuminate\Cache\RateLimiting\Limit::perHour(99)->by("ip:{$request->ip()}"),
        ]);
        Route::get('/three', fn () => 'ok')->middleware('throttle:three');
        Route::get('/two', fn () => 'ok')->name('two')->middleware('throttle:2,1');
        PHP;

    public function testSeveralLimitsAreOneQuestionToRedis(): void
    {
        $redis = RedisServer::start();
        $app = self::dropIn(self::THREE, ['store' => $redis->dsn()])->serve(workers: 1);
        $app->get('/api/three?a=0');
        $redis->resetStatistics();

        $this->assertSame([200, 200, 200], [
            $app->get('/api/three?a=1')->status,
            $app->get('/api/three?a=2')->status,
            $app->get('/api/three?a=2')->status,
        ]);
        $this->assertSame(3, $redis->callsOf('evalsha'));
    }

    public function testARefusalThatThisHostHasSeenIsNotAskedAgain(): void
    {
        $redis = RedisServer::start();
        $app = self::dropIn(self::THREE, ['store' => $redis->dsn()])->serve(['sluice.near' => '60s']);

        $this->assertSame([200, 200, 429], self::statuses(3, $app, '/api/two'));
        $redis->resetStatistics();
        $this->assertSame([429, 429, 429, 429], self::statuses(4, $app, '/api/two'));
        $this->assertSame(0, $redis->callsOf('evalsha'));
    }

    public function testWithoutItsRedisItAnswersByPolicyAndNeverWithAnError(): void
    {
        $gone = RedisServer::absent();
        $app = self::dropIn(self::THREE, ['store' => "unix://{$gone->socket()}"])->serve(workers: 1);

        $this->assertSame([200, 200, 429], self::statuses(3, $app, '/api/three?a=1'));
        $this->assertSame([200, 200, 429], self::statuses(3, $app, '/api/two'));
    }

    public function testTheScaleIsApplied(): void
    {
        $app = self::dropIn(self::THREE)->serve(['sluice.scale' => '0.5']);

        $first = $app->get('/api/two', self::JSON);
        $this->assertSame(['1', '0'], [$first->headers['x-ratelimit-limit'], $first->headers['x-ratelimit-remaining']]);
        $this->assertSame(429, $app->get('/api/two', self::JSON)->status);
    }

    public function testWhereItOnlyObservesEverybodyPasses(): void
    {
        $app = self::dropIn(self::THREE)->serve(['sluice.mode' => 'observe']);

        $this->assertSame([200, 200, 200, 200], self::statuses(4, $app, '/api/two'));
        $this->assertSame(1, substr_count($app->log(), 'Over the rate limit, let through'));
    }

    public function testADenialIsWrittenDownOnce(): void
    {
        $app = self::dropIn(self::THREE)->serve();

        $this->assertSame([200, 200, 429, 429], self::statuses(4, $app, '/api/two?id=3', self::as('7')));
        $this->assertSame(1, substr_count($app->log(), 'Refused by a rate limit'));
        $this->assertStringContainsString('"user":"7"', $app->log());
        $this->assertStringContainsString('"route":"two"', $app->log());
        $this->assertStringContainsString('"policy":"throttle"', $app->log());
        $this->assertStringContainsString('"capacity":2,"rate":"2/m fixed"', $app->log());
    }

    public function testTheAllowListIsAskedFirst(): void
    {
        $app = self::dropIn(self::THREE, [
            'allow' => ['users' => ['7'], 'networks' => ['192.0.2.0/24'], 'callback' => null],
        ])->serve();

        $this->assertSame([200, 200, 200], self::statuses(3, $app, '/api/two', self::as('7')));
        $this->assertSame([200, 200, 429], self::statuses(3, $app, '/api/two', self::as('8')));
        $answer = $app->get('/api/two', ip: '192.0.2.1');
        $this->assertSame(200, $answer->status);
        $this->assertArrayNotHasKey('x-ratelimit-limit', $answer->headers);
    }

    public function testTwoApplicationsOnOneStoreDoNotCountTogether(): void
    {
        $redis = RedisServer::start();
        $one = self::dropIn(self::THREE, ['store' => $redis->dsn()])->serve(workers: 1);
        $cache = file_get_contents(dirname(__DIR__) . '/Apps/laravel/config/cache.php');
        $two = self::dropIn(self::THREE, ['store' => $redis->dsn()], [
            'config/cache.php' => str_replace("'test-cache'", "'another-cache'", $cache),
        ])->serve(workers: 1);

        $this->assertSame([200, 200, 429], self::statuses(3, $one, '/api/two'));
        $this->assertSame([200, 200, 429], self::statuses(3, $two, '/api/two'));
    }

    public function testNoUserIsLookedUpForIt(): void
    {
        $app = self::dropIn(<<<'PHP'
            Illuminate\Support\Facades\RateLimiter::for('address', fn (Request $request) =>
                Illuminate\Cache\RateLimiting\Limit::perMinute(1)->by($request->ip()));
            Route::get('/address', fn () => 'ok')->middleware('throttle:address');
            PHP, [], ['app/Providers/AppServiceProvider.php' => self::provider(<<<'PHP'
                config(['auth.guards.api.driver' => 'forbidden']);
                Auth::viaRequest('forbidden', fn () => throw new \LogicException('the user was looked up'));
                PHP)])->serve();

        $this->assertSame([200, 429], self::statuses(2, $app, '/api/address'));
    }

    public function testOneWorkerKeepsNothingOfARequest(): void
    {
        $requests = <<<'PHP'
            $kernel = $app->make(Illuminate\Contracts\Http\Kernel::class);
            $statuses = [];
            $ask = static function (int $user) use ($app, $kernel, &$statuses): void {
                // As a server of many requests does in between.
                $app->make('auth')->forgetGuards();
                $request = Illuminate\Http\Request::create('/api/two', 'GET', server: [
                    'HTTP_AUTHORIZATION' => "Bearer {$user}", 'HTTP_ACCEPT' => 'application/json',
                ]);
                $response = $kernel->handle($request);
                $kernel->terminate($request, $response);
                $statuses[$response->getStatusCode()] = ($statuses[$response->getStatusCode()] ?? 0) + 1;
            };
            // All that our objects hold, and theirs by their names.
            $walk = static function (mixed $value) use (&$walk, &$seen): mixed {
                if (is_array($value)) {
                    return array_map($walk, $value);
                }
                if (!is_object($value) || isset($seen[spl_object_id($value)])) {
                    return is_object($value) ? $value::class : $value;
                }
                $seen[spl_object_id($value)] = true;
                return [$value::class, str_starts_with($value::class, 'Sluice') ? $walk((array) $value) : null];
            };
            $kept = static function () use ($app, $walk, &$seen): array {
                $seen = [];
                return [
                    $walk($app->make(Illuminate\Cache\RateLimiter::class)),
                    $walk($app->make(Sluice\Http\Guard::class)),
                ];
            };
            $ask(0);
            $before = $kept();
            $grown = PHP_INT_MAX;
            // What stays of each request stays in every round; a table may grow in one.
            foreach (range(1, 4) as $round) {
                gc_collect_cycles();
                $memory = memory_get_usage();
                array_map($ask, array_merge(...array_fill(0, 3, range(100 * $round, 100 * $round + 79))));
                gc_collect_cycles();
                $grown = min($grown, memory_get_usage() - $memory);
            }
            echo json_encode([$before === $kept(), $grown, $statuses]);
            PHP;
        $quiet = ['log' => ['channel' => false]];
        [, $theirs] = self::app(self::THREE, $quiet)->code($requests)->json();
        [$same, $ours, $statuses] = self::dropIn(self::THREE, $quiet)->code($requests)->json();

        $this->assertTrue($same);
        $this->assertSame(['200' => 1 + 4 * 160, '429' => 4 * 80], $statuses);
        $this->assertLessThan($theirs + 50_000, $ours, 'bytes in 240 requests, the framework\'s own among them');
    }

    public function testItStandsInTheContainerInThePlaceOfLaravelsOwn(): void
    {
        $said = self::dropIn(self::THREE)->code(<<<'PHP'
            $limiter = $app->make(Illuminate\Cache\RateLimiter::class);
            $app->make('cache')->store('array');
            echo json_encode([
                $limiter instanceof Illuminate\Cache\RateLimiter,
                $limiter instanceof Sluice\Laravel\Throttle\RateLimiter,
                $limiter === $app->make(Illuminate\Cache\RateLimiter::class),
                $limiter === Illuminate\Support\Facades\RateLimiter::getFacadeRoot(),
                get_class($app->make(Illuminate\Routing\Middleware\ThrottleRequests::class)),
                $app->make(Illuminate\Routing\Middleware\ThrottleRequestsWithRedis::class)
                    instanceof Illuminate\Routing\Middleware\ThrottleRequests,
                $limiter->limiter('three') !== null,
            ]);
            PHP)->json();
        $this->assertSame([true, true, true, true, 'Sluice\Laravel\Throttle\ThrottleRequests', true, true], $said);
    }

    public function testWhatWasNamedBeforeItStaysNamed(): void
    {
        $provider = self::provider(<<<'PHP'
            \Illuminate\Support\Facades\RateLimiter::for('early', fn () => 'limits');
            \Illuminate\Support\Facades\RateLimiter::hit('early');
            \Sluice\Laravel\DropIn::register($this->app);
            PHP);
        $said = LaravelApp::make(['SLUICE_DROP_IN' => false], ['app/Providers/AppServiceProvider.php' => $provider])
            ->code(<<<'PHP'
                use Illuminate\Support\Facades\RateLimiter;
                RateLimiter::for('late', fn () => 'limits');
                $limiter = $app->make(Illuminate\Cache\RateLimiter::class);
                echo json_encode([$limiter::class, $limiter->limiter('early')(), $limiter->limiter('late')()]);
                PHP)->json();
        $this->assertSame(['Sluice\Laravel\Throttle\RateLimiter', 'limits', 'limits'], $said);
    }

    public function testRedisThrottleWaitsForItsTurnAndNoLonger(): void
    {
        $said = self::dropIn('', [], [], ['REDIS_HOST' => '127.0.0.1', 'REDIS_PORT' => '1'])->code(<<<'PHP'
            use Illuminate\Redis\Limiters\DurationLimiter;
            use Illuminate\Redis\Limiters\DurationLimiterBuilder;
            // What Redis::throttle() gives, without connecting.
            $throttle = fn (string $name) => new DurationLimiterBuilder(
                (new ReflectionClass(Illuminate\Redis\Connections\PhpRedisConnection::class))->newInstanceWithoutConstructor(),
                $name,
            );
            $started = hrtime(true);
            $turns = [];
            foreach (range(1, 3) as $_) {
                $turns[] = $throttle('k')->allow(2)->every(60)->block(3)->then(fn () => 'done', fn () => 'timeout');
            }
            $took = (hrtime(true) - $started) / 1e9;
            $throttle('soon')->allow(1)->every(1)->block(0)->then(fn () => 'done');
            $turns[] = $throttle('soon')->allow(1)->every(1)->block(5)->then(fn () => 'waited', fn () => 'timeout');
            $limiter = new DurationLimiter(null, 'k', 2, 60);
            $full = $limiter->tooManyAttempts();
            $ends = $limiter->decaysAt - time();
            $limiter->clear();
            echo json_encode([
                $turns, $took < 3, $full, $ends >= 59 && $ends <= 61, $limiter->tooManyAttempts(), $limiter->acquire(),
                $limiter->remaining, Illuminate\Support\Facades\RateLimiter::attempts('k'),
            ]);
            PHP)->json();
        $this->assertSame(
            [['done', 'done', 'timeout', 'waited'], true, true, true, false, true, 1, 0],
            $said,
        );
    }

    public function testThrottlingByTheRedisMiddlewareNeedsNoRedis(): void
    {
        $class = 'Illuminate\Routing\Middleware\ThrottleRequestsWithRedis';
        $app = self::dropIn("Route::get('/redis', fn () => 'ok')->middleware(\\{$class}::class . ':2,1');", [], [], [
            'REDIS_PORT' => '1',
        ])->serve();

        $first = $app->get('/api/redis', self::JSON);
        $this->assertSame(['2', '1'], [$first->headers['x-ratelimit-limit'], $first->headers['x-ratelimit-remaining']]);
        $this->assertSame([200, 429], self::statuses(2, $app, '/api/redis'));
    }

    public function testAQueueWorkerReleasesWithTheDelay(): void
    {
        $redis = RedisServer::startOnPort();
        $app = self::dropIn('', [], [
            'app/Jobs/Report.php' => <<<'PHP'
                <?php
                namespace App\Jobs;
                class Report implements \Illuminate\Contracts\Queue\ShouldQueue
                {
                    use \Illuminate\Bus\Queueable;
                    use \Illuminate\Foundation\Bus\Dispatchable;
                    use \Illuminate\Queue\InteractsWithQueue;
                    public $tries = 3;
                    public function middleware(): array
                    {
                        return [new \Illuminate\Queue\Middleware\RateLimited('reports')];
                    }
                    public function handle(): void
                    {
                        file_put_contents(storage_path('ran'), 'x', FILE_APPEND);
                    }
                }
                PHP,
            'app/Providers/AppServiceProvider.php' => self::provider(<<<'PHP'
                \Illuminate\Support\Facades\RateLimiter::for('reports', fn () =>
                    \Illuminate\Cache\RateLimiting\Limit::perMinute(2));
                PHP),
        ], ['QUEUE_CONNECTION' => 'redis', 'REDIS_PORT' => $redis->port(), 'CACHE_DRIVER' => 'array']);
        $app->code('foreach (range(1, 3) as $_) { App\Jobs\Report::dispatch(); }');

        $this->assertSame(0, $app->artisan('queue:work', 'redis', '--stop-when-empty')->exitCode, $app->log());
        $this->assertSame('xx', file_get_contents($app->path('storage/ran')));
        [, $when] = $redis->command('ZRANGE', 'queues:default:delayed', '0', '-1', 'WITHSCORES');
        $this->assertEqualsWithDelta(time() + 63, (int) $when, 5);
    }

    public function testTheCommandsKnowItsCounts(): void
    {
        $redis = RedisServer::start();
        // What a command resets, a host with a near state may miss for a second.
        $app = self::dropIn(self::THREE, ['store' => $redis->dsn()])->serve(['sluice.near' => '0']);
        self::statuses(3, $app, '/api/two');
        $app->get('/api/three?a=');

        $why = json_decode($app->artisan('sluice:why', 'ip:127.0.0.1', '--json')->stdout, true);
        $told = array_map(static fn (array $row): array => [
            $row['route'], $row['limit_spec'], $row['remaining'], $row['allowed'], $row['shared'],
        ], $why);
        $this->assertEqualsCanonicalizing([
            ['two', '2/m fixed', 0, false, false],
            // Limits that do not go by the address are everybody's.
            ['GET|HEAD /api/three', '2/m fixed', 1, true, true],
            ['GET|HEAD /api/three', '9/m fixed', 8, true, true],
            ['GET|HEAD /api/three', '99/h fixed', 98, true, false],
        ], $told, (string) json_encode($why));

        $reset = $app->artisan('sluice:reset', $why[0]['key'], 'throttle');
        $this->assertSame(0, $reset->exitCode, $reset->stdout . $reset->stderr);
        $this->assertSame($why[0]['route'] === 'two' ? 200 : 429, $app->get('/api/two')->status);
        $app->artisan('sluice:reset', 'ip:127.0.0.1');
        $this->assertSame([200, 200, 429], self::statuses(3, $app, '/api/two'));
    }

    public function testAMiddlewareOfTheApplicationsOwnCountsHereToo(): void
    {
        $app = self::dropIn('Route::get("/own", fn () => "ok")->middleware(App\Http\Own::class . ":2,1");', [], [
            'app/Http/Own.php' => <<<'PHP'
                <?php
                namespace App\Http;
                class Own extends \Illuminate\Routing\Middleware\ThrottleRequests
                {
                    protected function resolveRequestSignature($request)
                    {
                        return $request->query('by');
                    }
                }
                PHP,
        ])->serve();

        $this->assertSame([200, 200, 429], self::statuses(3, $app, '/api/own?by=a'));
        $this->assertSame([200], self::statuses(1, $app, '/api/own?by=b'));
        $this->assertSame([], glob($app->path('storage/framework/cache/data/*')));
    }

    public function testTheExceptionHandlerReportsNoMoreThanItMay(): void
    {
        if (version_compare(LaravelApp::version(), '11', '<')) {
            $this->expectNotToPerformAssertions();
            Checkout::of('LARAVEL_DIR', 'what came with Laravel 11');
            return;
        }
        $app = self::dropIn('Route::get("/fails", fn () => throw new DomainException("broken"));', [], [
            'app/Exceptions/Handler.php' => <<<'PHP'
                <?php
                namespace App\Exceptions;
                class Handler extends \Illuminate\Foundation\Exceptions\Handler
                {
                    protected function throttle(\Throwable $e)
                    {
                        return \Illuminate\Cache\RateLimiting\Limit::perMinute(2);
                    }
                }
                PHP,
        ])->serve();

        $this->assertSame([500, 500, 500, 500], self::statuses(4, $app, '/api/fails'));
        $this->assertSame(2, substr_count($app->log(), 'ERROR: broken'));
        $this->assertSame([], glob($app->path('storage/framework/cache/data/*')));
    }

    public function testItCanBeInACachedConfiguration(): void
    {
        $app = self::dropIn(self::THREE);
        $cached = $app->artisan('config:cache');
        $this->assertSame(0, $cached->exitCode, $cached->stdout . $cached->stderr);
        $app->write('.env', '');
        $app->serve();

        $this->assertSame([200, 200, 429], self::statuses(3, $app, '/api/two'));
        $this->assertSame([], glob($app->path('storage/framework/cache/data/*')));
    }

    public function testWithoutTheExtensionLaravelsOwnStaysWhereThatWasAllowed(): void
    {
        $send = <<<'PHP'
            $kernel = $app->make(Illuminate\Contracts\Http\Kernel::class);
            $statuses = [];
            for ($request = 0; $request < 3; $request++) {
                $statuses[] = $kernel->handle(Illuminate\Http\Request::create('/api/two'))->getStatusCode();
            }
            echo json_encode($statuses);
            PHP;
        $allowed = self::dropIn(self::THREE, ['without_extension' => true], [], ['APP_ENV' => 'local']);
        $this->assertSame([200, 200, 429], $allowed->codeWithoutTheExtension($send)->json());

        $strict = self::dropIn(self::THREE, ['without_extension' => true], [], ['APP_ENV' => 'production']);
        $this->assertSame([500, 500, 500], $strict->codeWithoutTheExtension($send)->json());
        $this->assertStringContainsString('The PHP extension \"sluice\" is not loaded', $strict->log());
    }

    public function testThePagesSayHowToTurnItOn(): void
    {
        $blocks = array_map(static function (string $page): string {
            $text = (string) file_get_contents(dirname(__DIR__, 2) . "/docs/{$page}");
            preg_match_all('/^```php (\S+)\n(.*?)^```$/ms', $text, $found);
            self::assertSame(['config/sluice.php'], $found[1], $page);
            return $found[2][0];
        }, ['laravel-drop-in.md', 'laravel-drop-in.zh-CN.md']);
        self::assertSame($blocks[0], $blocks[1]);

        $app = self::app(self::THREE, [], ['config/sluice.php' => "<?php return [{$blocks[0]}];"])->serve();
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/two'));
        self::assertSame([], glob($app->path('storage/framework/cache/data/*')));
    }

    /**
     * @param array<string, mixed> $config
     * @param array<string, string> $files
     * @param array<string, string|int|bool> $env
     */
    private static function dropIn(string $routes, array $config = [], array $files = [], array $env = []): LaravelApp
    {
        return self::app($routes, $config + ['drop_in' => true], $files, $env);
    }
}
