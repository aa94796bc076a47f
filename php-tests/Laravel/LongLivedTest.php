<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\RedisServer;

/** One kernel for many requests, as under Octane: nothing of one stays for the next. */
final class LongLivedTest extends LaravelTestCase
{
    private const SEND = <<<'PHP'
        $kernel = $app->make(Illuminate\Contracts\Http\Kernel::class);
        function send(string $method, string $uri, string $user = '', string $ip = '127.0.0.1', array $input = [])
        {
            global $kernel, $app;
            // Octane does it before each request; each guard leaves a callback behind.
            $user === '' || $app->make('auth')->forgetGuards();
            $request = Illuminate\Http\Request::create($uri, $method, $input, server: ['REMOTE_ADDR' => $ip, 'HTTP_ACCEPT' => 'application/json']
                + ($user === '' ? [] : ['HTTP_AUTHORIZATION' => "Bearer {$user}"]));
            $response = $kernel->handle($request);
            $kernel->terminate($request, $response);
            return $response;
        }

        PHP;

    public function testEachRequestIsItsOwn(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/a', fn () => 1)->middleware('sluice:2/m');
            Route::get('/n/{id}', fn (...$all) => $all)->defaults('limit_capacity', 3)->defaults('limit_rate', 0.01);
            PHP, ['groups' => ['api' => 'client'], 'policies' => ['client' => ['limit' => '6/m', 'by' => 'client']]]);
        $result = $app->code(self::SEND . <<<'PHP'
            Sluice\Store::fake();
            $status = fn (...$with) => send(...$with)->getStatusCode();
            $seen = [];
            foreach (['1', '2', '3'] as $user) {
                $seen[] = [$status('GET', '/api/a', $user), $status('GET', '/api/a', $user), $status('GET', '/api/a', $user)];
            }
            $app->make('auth')->forgetGuards();
            $seen[] = [$status('GET', '/api/a'), $status('GET', '/api/a'), $status('GET', '/api/a')];
            $seen[] = [$status('GET', '/api/a', '', '192.0.2.1'), $status('GET', '/api/a', '', '192.0.2.1')];
            $bodies = [];
            for ($time = 0; $time < 4; $time++) {
                $response = send('GET', "/api/n/{$time}", '9');
                $bodies[] = $response->getStatusCode() === 200 ? $response->getContent() : 429;
            }
            echo json_encode([$seen, $bodies]);
            PHP);
        self::assertSame([
            [[200, 200, 429], [200, 200, 429], [200, 200, 429], [200, 200, 429], [200, 200]],
            ['["0"]', '["1"]', '["2"]', 429],
        ], $result->json());
    }

    /** Octane clones the application for each request, and what is a singleton before stays one for all. */
    public function testInAClonedApplicationEachRequestIsAskedForItself(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/plan', fn () => 1)->middleware('sluice:plan');
            Route::get('/book', fn () => (string) \Sluice\Laravel\Sluice::reserve('slow', maxWait: 60)->delay);
            PHP, ['policies' => ['slow' => ['limit' => '6/m burst 1', 'by' => 'client']]], [
                'app/Providers/AppServiceProvider.php' => self::provider('\Sluice\Laravel\Sluice::for("plan", fn (Request $request) =>
                    $request->user() === null ? "1/m" : \Sluice\Limit::slidingWindow((int) $request->user()->getAuthIdentifier(), 60));'),
            ]);
        $result = $app->code(<<<'PHP'
            use Illuminate\Container\Container;
            use Illuminate\Http\Request;
            use Illuminate\Support\Facades\Facade;
            Sluice\Store::fake();
            $app->instance('request', Request::create('/'));
            $app->make(Illuminate\Contracts\Http\Kernel::class)->bootstrap();
            $app->make(Sluice\Http\Guard::class);
            function send($uri, $user = '', $ip = '127.0.0.1')
            {
                global $app;
                $sandbox = clone $app;
                foreach (['app', Container::class] as $name) {
                    $sandbox->instance($name, $sandbox);
                }
                Container::setInstance($sandbox);
                Facade::clearResolvedInstances();
                Facade::setFacadeApplication($sandbox);
                $sandbox->make('auth')->setApplication($sandbox)->forgetGuards();
                $sandbox->make('router')->setContainer($sandbox);
                $kernel = $sandbox->make(Illuminate\Contracts\Http\Kernel::class)->setApplication($sandbox);
                $request = Request::create($uri, server: ['REMOTE_ADDR' => $ip]
                    + ($user === '' ? [] : ['HTTP_AUTHORIZATION' => "Bearer {$user}"]));
                foreach ($app->make('router')->getRoutes() as $route) {
                    $route->setContainer($sandbox);
                }
                $response = $kernel->handle($request);
                $kernel->terminate($request, $response);
                return $response->getStatusCode() === 200 ? $response->getContent() : $response->getStatusCode();
            }
            $seen = [];
            foreach (['2', '', '3', '1'] as $user) {
                $seen[] = [send('/api/plan', $user), send('/api/plan', $user), send('/api/plan', $user)];
            }
            echo json_encode([$seen, send('/api/book', '1'), send('/api/book', '1'), send('/api/book', '2'), send('/api/book', ip: '192.0.2.1'), send('/api/book', ip: '192.0.2.2')]);
            PHP);
        self::assertSame(
            [[['1', '1', 429], ['1', 429, 429], ['1', '1', '1'], ['1', 429, 429]], '0', '10', '0', '0', '0'],
            $result->json(),
        );
    }

    /** As a package does that lists middleware before the first request. */
    public function testLimitsOfARouteHoldThoughItsMiddlewareWasAskedForBefore(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->defaults('limit_capacity', 1)->defaults('limit_rate', 0.01);");
        $result = $app->code(self::SEND . <<<'PHP'
            foreach ($app->make('router')->getRoutes() as $route) {
                $app->make('router')->gatherRouteMiddleware($route);
            }
            echo json_encode([send('GET', '/api/a')->getStatusCode(), send('GET', '/api/a')->getStatusCode()]);
            PHP);
        self::assertSame([200, 429], $result->json());
    }

    public function testPermitsAreFreeWhenTheAnswerWasSentWhateverItWas(): void
    {
        $routes = <<<'PHP'
            Route::middleware('sluice:slow')->group(function () {
                Route::get('/ok', fn () => (new Limiter())->peek('', Limit::concurrency(2)->named('slow'))->remaining);
                Route::get('/fails', fn () => throw new RuntimeException('failed'));
                Route::get('/missing', fn () => abort(404));
                Route::get('/stream', fn () => response()->stream(function () {
                    echo (new Limiter())->peek('', Limit::concurrency(2)->named('slow'))->remaining;
                }));
            });
            PHP;
        foreach ([null, RedisServer::start()->dsn()] as $dsn) {
            $config = ['store' => $dsn, 'policies' => ['slow' => ['limit' => '2 concurrent', 'by' => 'site']]];
            $result = self::app($routes, $config)->code(self::SEND . <<<'PHP'
                $left = fn () => (new Sluice\Limiter())->peek('', Sluice\Limit::concurrency(2)->named('slow'))->remaining;
                $seen = [];
                for ($time = 0; $time < 3; $time++) {
                    foreach (['ok', 'fails', 'missing'] as $route) {
                        $response = send('GET', "/api/{$route}");
                        $seen[] = [$response->getStatusCode(), $left()];
                        $route === 'ok' && $seen[] = $response->getContent();
                    }
                }
                // A streamed answer still holds it.
                $request = Illuminate\Http\Request::create('/api/stream');
                $response = $kernel->handle($request);
                ob_start();
                $response->sendContent();
                $seen[] = ob_get_clean();
                $kernel->terminate($request, $response);
                $seen[] = $left();
                echo json_encode($seen);
                PHP)->json();
            $round = [[200, 2], '1', [500, 2], [404, 2]];
            self::assertSame([...$round, ...$round, ...$round, '1', 2], $result);
        }
    }

    /** As in a test `withoutExceptionHandling()`: nobody makes an answer, nobody calls terminate(). */
    public function testAnExceptionThatNobodyCatchesFreesThePermit(): void
    {
        $config = ['policies' => ['slow' => ['limit' => '2 concurrent', 'by' => 'site']]];
        $app = self::app("Route::get('/fails', fn () => throw new LogicException('failed'))->middleware('sluice:slow');", $config);
        $result = $app->code(<<<'PHP'
            $app->instance(Illuminate\Contracts\Debug\ExceptionHandler::class, new class ($app) extends Illuminate\Foundation\Exceptions\Handler {
                public function report(Throwable $error) {}
                public function render($request, Throwable $error) { throw $error; }
            });
            try {
                $app->make(Illuminate\Contracts\Http\Kernel::class)->handle(Illuminate\Http\Request::create('/api/fails'));
            } catch (LogicException $error) {
                echo json_encode([$error->getMessage(), (new Sluice\Limiter())->peek('', Sluice\Limit::concurrency(2)->named('slow'))->remaining]);
            }
            PHP);
        self::assertSame(['failed', 2], $result->json());
    }

    public function testAThousandAccountsFromOneAddressAreStoppedByTheAddress(): void
    {
        $app = self::app("Route::post('/login', fn () => 'in')->middleware('sluice:login');");
        $result = $app->code(self::SEND . <<<'PHP'
            Sluice\Store::fake();
            $statuses = [];
            for ($account = 0; $account < 1000; $account++) {
                $statuses[] = send('POST', '/api/login', input: ['email' => "user{$account}@example.org"])->getStatusCode();
            }
            echo json_encode(array_count_values($statuses));
            PHP);
        self::assertSame(['200' => 30, '429' => 970], $result->json());
    }

    public function testThousandsOfRequestsLeaveNoMemoryBehind(): void
    {
        $app = self::app("Route::get('/a/{id}', fn () => 1)->middleware('sluice:5/m,10 concurrent');", ['log' => ['channel' => false]]);
        $result = $app->code(self::SEND . <<<'PHP'
            $measure = function (int $from) {
                for ($request = $from; $request < $from + 1000; $request++) {
                    send('GET', "/api/a/{$request}", ip: long2ip(0x0a000000 + $request));
                }
                gc_collect_cycles();
                return memory_get_usage();
            };
            $warm = $measure(0);
            echo json_encode($measure(1000) - $warm);
            PHP);
        self::assertLessThan(50_000, $result->json());
    }
}
