<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\Checkout;
use Sluice\Tests\Support\LaravelApp;

/** The middleware `sluice` over HTTP: what it asks, of whom, and what it answers. */
final class MiddlewareTest extends LaravelTestCase
{
    public function testAnswersAsThrottleDoes(): void
    {
        $app = self::app("Route::get('/a', fn () => 'a')->middleware('sluice:2/m');")->serve();
        $first = $app->get('/api/a', self::JSON);
        self::assertSame([200, 'a', '2', '1'], [
            $first->status, $first->body,
            $first->headers['x-ratelimit-limit'], $first->headers['x-ratelimit-remaining'],
        ]);
        self::assertArrayNotHasKey('retry-after', $first->headers);
        $app->get('/api/a', self::JSON);
        $before = time();
        $third = $app->get('/api/a', self::JSON);
        self::assertSame(429, $third->status);
        self::assertSame('application/json', $third->headers['content-type']);
        self::assertSame(['message' => 'Too Many Attempts.'], $third->json());
        self::assertSame(['2', '0'], [$third->headers['x-ratelimit-limit'], $third->headers['x-ratelimit-remaining']]);
        $after = (int) $third->headers['retry-after'];
        self::assertContains($after, range(50, 60));
        self::assertContains((int) $third->headers['x-ratelimit-reset'], range($before + $after, time() + $after));
        // The application's handler renders it, as HTML for a browser.
        self::assertStringContainsString('text/html', $app->get('/api/a')->headers['content-type']);
    }

    public function testTakesPoliciesSpecsAndSeveralOfThem(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/policy', fn () => 1)->middleware('sluice:twice');
            Route::get('/bucket', fn () => 1)->middleware('sluice:1/h burst 3');
            Route::get('/several', fn () => 1)->middleware('sluice:twice,5/m,1/h burst 4,2/h burst 9');
            Route::get('/none', fn () => 1)->middleware('sluice:none');
            Route::get('/deny', fn () => 1)->middleware('sluice:deny');
            Route::get('/default', fn () => 1)->middleware('sluice');
            PHP, ['policies' => ['twice' => '2/m', 'often' => '3/m'], 'default' => 'often'])->serve();
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/policy'));
        self::assertSame([200, 200, 200, 429], self::statuses(4, $app, '/api/bucket'));
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/several'));
        self::assertSame([200, 200, 200, 200], self::statuses(4, $app, '/api/none'));
        self::assertSame([429], self::statuses(1, $app, '/api/deny'));
        self::assertSame([200, 200, 200, 429], self::statuses(4, $app, '/api/default'));
    }

    /** Two buckets by one key would be one with both costs. */
    public function testSpecsOfOneKindCountApart(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/h burst 3,1/h burst 2');")->serve();
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/a'));
    }

    public function testAPolicyThatNobodyKnowsSaysSo(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:nope');")->serve();
        self::assertSame([500], self::statuses(1, $app, '/api/a'));
        self::assertStringContainsString('there is no policy "nope"; configured are: tiers, login', $app->log());
    }

    public function testKnowsThePoliciesOfTheExtensionsOwnFileToo(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:core');");
        $app->write('sluice.toml', "[limits]\ncore = \"2/m\"\n");
        $ini = ['sluice.config' => $app->path('sluice.toml')];
        self::assertSame([200, 200, 429], self::statuses(3, $app->serve($ini), '/api/a'));
        $routes = $app->artisanWith($ini, 'sluice:routes', '--path=api/*')->stdout;
        self::assertStringContainsString('core: 2/m by client+route', $routes);
    }

    public function testARouteOfAGroupHasItsPolicyUnlessItDoesNotWantIt(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/forgotten', fn () => 1);
            Route::get('/unwanted', fn () => 1)->withoutMiddleware('sluice');
            Route::get('/instead', fn () => 1)->withoutMiddleware('sluice')->middleware('sluice:1/m');
            PHP, ['groups' => ['api' => 'twice', 'no such group' => 'twice'], 'policies' => ['twice' => '2/m']])->serve();
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/forgotten'));
        self::assertSame([200, 200, 200], self::statuses(3, $app, '/api/unwanted'));
        self::assertSame([200, 429], self::statuses(2, $app, '/api/instead'));
        self::assertSame(200, $app->get('/')->status);
        self::assertArrayNotHasKey('x-ratelimit-limit', $app->get('/')->headers);
    }

    /** However many middleware say it: if one limit refuses, none is charged. */
    public function testAllThatARouteSaysIsOneDecision(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/both', fn () => 1)->middleware('sluice:1/m');
            Route::get('/other', fn () => 1);
            PHP, ['groups' => ['api' => 'group'], 'policies' => ['group' => ['limit' => '4/m', 'by' => 'client']]])->serve();
        self::assertSame([200, 429, 429, 429, 429, 429], self::statuses(6, $app, '/api/both'));
        // Only one of the six was charged to the group's policy.
        self::assertSame([200, 200, 200, 429], self::statuses(4, $app, '/api/other'));
    }

    public function testTiersHoldForTheSiteTheRouteAndTheClient(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/a', fn () => 1);
            Route::get('/b', fn () => 1);
            Route::get('/c', fn () => 1);
            PHP, ['groups' => ['api' => 'tiers'], 'policies' => ['tiers' => [
                ['limit' => '6/m', 'by' => 'site'],
                ['limit' => '3/m', 'by' => 'route'],
                ['limit' => '2/m', 'by' => 'client+route'],
            ]]])->serve();
        $get = static fn (string $route, string $user): int => $app->get("/api/{$route}", self::as($user))->status;
        self::assertSame([200, 200, 429], [$get('a', '1'), $get('a', '1'), $get('a', '1')], 'the client on the route');
        self::assertSame([200, 429], [$get('a', '2'), $get('a', '2')], 'the route');
        self::assertSame([200, 200], [$get('b', '1'), $get('b', '2')]);
        self::assertSame([200, 429], [$get('c', '1'), $get('c', '2')], 'the site');
    }

    public function testARouteHasNumbersOfItsOwn(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/defaults/{id}', fn (string $id, ...$more) => [$id, ...$more])
                ->defaults('limit_capacity', '3')->defaults('limit_rate', '0.01');
            Route::get('/action', ['uses' => fn () => 1, 'limit_capacity' => 2, 'limit_rate' => 0.01]);
            Route::get('/elsewhere', fn () => 1)->defaults('limit_capacity', 5)->defaults('limit_rate', 1);
            Route::get('/half', fn () => 1)->defaults('limit_capacity', 3);
            PHP, ['groups' => ['api' => 'tiers'], 'policies' => ['tiers' => [
                ['limit' => '7/m', 'by' => 'client'],
                ['limit' => '1/m', 'by' => 'client+route'],
            ]]])->serve();
        self::assertSame(['7'], $app->get('/api/defaults/7', self::JSON)->json());
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/defaults/8?limit_capacity=9&limit_rate=9'));
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/action'));
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/elsewhere'), 'the other tier stays');
        self::assertSame([500], self::statuses(1, $app, '/api/half'));
        self::assertStringContainsString('must have both limit_capacity', $app->log());
    }

    public function testWhatARouteSaysTwiceIsChargedOnce(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/tiers', #[RateLimit('tiers')] fn () => 1);
            Route::get('/ip', #[RateLimit('ip')] #[RateLimit('ip')] fn () => 1)->middleware('sluice:ip');
            Route::get('/spec', #[RateLimit('3/m')] fn () => 1)->middleware(['sluice:3/m', 'sluice:3/m,9/h']);
            PHP, ['groups' => ['api' => 'tiers'], 'policies' => [
                'tiers' => [['limit' => '9/m', 'by' => 'site'], ['limit' => '3/m']],
                'ip' => ['limit' => '3/m', 'by' => 'ip'],
            ]])->serve();
        foreach (['tiers', 'ip', 'spec'] as $route) {
            self::assertSame([200, 200, 200, 429], self::statuses(4, $app, "/api/{$route}"), $route);
        }
        $routes = json_decode($app->artisan('sluice:routes', '--json', '--path=api/tiers')->stdout, true);
        self::assertSame(['tiers: 9/m by site', 'tiers: 3/m by client+route'], $routes[0]['limits']);
    }

    /** Its numbers are enough: it needs no middleware to be named. */
    public function testNumbersAndAttributesLimitByThemselves(): void
    {
        $controller = <<<'PHP'
            <?php
            namespace App\Http\Controllers;
            use Sluice\Laravel\RateLimit;
            #[RateLimit('1/m')]
            class Ours extends Controller
            {
                public function plain() { return 1; }
                #[RateLimit('2/m')]
                public function action() { return 1; }
                #[RateLimit(capacity: 3, rate: 0.01)] #[RateLimit('twice', by: 'site')]
                public function several() { return 1; }
                #[RateLimit('none')]
                public function open() { return 1; }
            }
            PHP;
        $child = "<?php\nnamespace App\\Http\\Controllers;\nclass Child extends Ours { public function __invoke() { return 1; } }";
        $app = self::app(<<<'PHP'
            Route::get('/numbers', fn () => 1)->defaults('limit_capacity', 1)->defaults('limit_rate', 0.01);
            Route::get('/closure', #[RateLimit('2/m')] fn () => 1);
            Route::get('/plain', [App\Http\Controllers\Ours::class, 'plain']);
            Route::get('/action', 'App\Http\Controllers\Ours@action');
            Route::get('/several', [App\Http\Controllers\Ours::class, 'several']);
            Route::get('/open', [App\Http\Controllers\Ours::class, 'open']);
            Route::get('/child', App\Http\Controllers\Child::class);
            Route::get('/one', fn () => 1)->middleware('sluice:none')->defaults('limit_capacity', 1)->defaults('limit_rate', 0.01);
            PHP, ['policies' => ['twice' => '2/m']], [
                'app/Http/Controllers/Ours.php' => $controller,
                'app/Http/Controllers/Child.php' => $child,
            ])->serve();
        self::assertSame([200, 429], self::statuses(2, $app, '/api/numbers'));
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/closure'));
        self::assertSame([200, 429], self::statuses(2, $app, '/api/plain'));
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/action'));
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/several'));
        self::assertSame([200, 200, 200], self::statuses(3, $app, '/api/open'));
        self::assertSame([200, 429], self::statuses(2, $app, '/api/child'));
        self::assertSame([200, 429], self::statuses(2, $app, '/api/one'));
    }

    public function testActionsThatGoByOneAddressShareACountOnlyWhereTheySayTheSame(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/search', #[RateLimit('4/m', by: 'ip')] fn () => 1);
            Route::get('/login', #[RateLimit('2/m', by: 'ip')] fn () => 1);
            Route::get('/reset', #[RateLimit('2/m', by: 'ip')] fn () => 1);
            Route::get('/many', #[RateLimit(capacity: 4, rate: 0.001, by: 'ip')] fn () => 1);
            Route::get('/few', #[RateLimit(capacity: 1, rate: 0.001, by: 'ip')] fn () => 1);
            PHP)->serve();
        self::assertSame([200, 200, 200], self::statuses(3, $app, '/api/search'));
        self::assertSame([200], self::statuses(1, $app, '/api/login'), 'it was never asked for');
        self::assertSame([200, 429], self::statuses(2, $app, '/api/reset'), 'two a minute in all');
        self::assertSame([200, 200], self::statuses(2, $app, '/api/many'));
        self::assertSame([200, 429], self::statuses(2, $app, '/api/few'));
    }

    public function testStandsAtThrottlesPlaceBehindAuthentication(): void
    {
        // The order on the route is the wrong one on purpose.
        $app = self::app(<<<'PHP'
            Route::get('/mine', fn () => 1)->middleware(['sluice:1/m', 'auth']);
            PHP)->serve();
        self::assertSame([401, 401, 401], self::statuses(3, $app, '/api/mine'), 'refused before it was counted');
        self::assertSame([200, 429], self::statuses(2, $app, '/api/mine', self::as('1')));
        $order = $app->code(<<<'PHP'
            $app->make(Illuminate\Contracts\Http\Kernel::class);
            $priority = $app->make('router')->middlewarePriority;
            $kernel = $app->make(Illuminate\Contracts\Http\Kernel::class)->getMiddlewarePriority();
            // What an application adds later writes the kernel's list over the router's.
            $app->make(Illuminate\Contracts\Http\Kernel::class)->appendToMiddlewarePriority('Later');
            echo json_encode([$priority === $kernel, array_slice($app->make('router')->middlewarePriority, 0, -1) === $priority, $priority]);
            PHP)->json();
        self::assertTrue($order[0]);
        self::assertTrue($order[1]);
        $place = array_flip($order[2]);
        self::assertSame(1, $place['Illuminate\Routing\Middleware\ThrottleRequests'] - $place['Sluice\Laravel\LimitRequests']);
        self::assertGreaterThan(
            $place['Illuminate\Contracts\Auth\Middleware\AuthenticatesRequests'],
            $place['Sluice\Laravel\LimitRequests'],
        );
    }

    public function testWorksWithCachedRoutesAndConfiguration(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/a', 'App\Http\Controllers\Some@a')->middleware('sluice:1/m');
            Route::get('/b', 'App\Http\Controllers\Some@b')->defaults('limit_capacity', 1)->defaults('limit_rate', 0.01);
            Route::name('group.')->group(function () {
                Route::get('/c', 'App\Http\Controllers\Some@a')->middleware('sluice:1/m');
                Route::get('/d', 'App\Http\Controllers\Some@a')->middleware('sluice:1/m');
            });
            PHP, ['groups' => ['api' => 'tiers']], ['app/Http/Controllers/Some.php' => <<<'PHP'
                <?php
                namespace App\Http\Controllers;
                class Some extends Controller
                {
                    public function a() { return 1; }
                    public function b(...$all) { return $all; }
                }
                PHP, 'routes/web.php' => '<?php']);
        foreach (['config:cache', 'route:cache'] as $command) {
            $result = $app->artisan($command);
            self::assertSame([0, ''], [$result->exitCode, $result->stderr], $result->stdout);
        }
        $app->serve();
        foreach (['a', 'b', 'c', 'd'] as $route) {
            self::assertSame([200, 429], self::statuses(2, $app, "/api/{$route}"), $route);
        }
        self::assertStringContainsString('"route":"GET|HEAD /api/a"', $app->log());
    }

    public function testTheAllowListComesFirstAndEachPassIsLogged(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');", ['allow' => [
            'users' => [1],
            'networks' => ['10.0.0.0/8'],
            'callback' => 'App\Monitor',
        ]], ['app/Monitor.php' => <<<'PHP'
            <?php
            namespace App;
            final class Monitor
            {
                public function __construct(private \Illuminate\Http\Request $request) {}
                public function __invoke(\Sluice\Http\Facts $facts): bool
                {
                    return $facts->route === 'GET|HEAD /api/a' && $this->request->userAgent() === 'monitor';
                }
            }
            PHP])->serve();
        self::assertSame([200, 200, 200], self::statuses(3, $app, '/api/a', self::as('1')));
        self::assertSame([200, 200], self::statuses(2, $app, '/api/a', ['User-Agent' => 'monitor']));
        self::assertSame(200, $app->get('/api/a', self::JSON, '10.1.2.3')->status);
        self::assertSame(200, $app->get('/api/a', self::JSON, '10.1.2.3')->status);
        self::assertSame(7, substr_count($app->log(), 'Passed the rate limits by the allow list'));
        self::assertStringContainsString('{"by":"network 10.0.0.0/8","ip":"10.1.2.3"', $app->log());
        self::assertSame([200, 429], self::statuses(2, $app, '/api/a', self::as('11')));
    }

    public function testTheAnswerCanBeTheApplications(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');", [
            'responder' => 'App\Busy',
            'headers' => 'standard',
        ], ['app/Busy.php' => <<<'PHP'
            <?php
            namespace App;
            final class Busy
            {
                public function __invoke($request, \Sluice\Http\Verdict $verdict)
                {
                    return response("{$request->path()} is busy, {$verdict->limit()} only", 503);
                }
            }
            PHP])->serve();
        self::assertArrayHasKey('ratelimit', $app->get('/api/a')->headers);
        $busy = $app->get('/api/a');
        self::assertSame([503, 'api/a is busy, 1/m only'], [$busy->status, $busy->body]);
        self::assertArrayHasKey('retry-after', $busy->headers);

        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:0/m');", [
            'message' => 'Slow down.',
            'headers' => 'none',
        ])->serve();
        $answer = $app->get('/api/a', self::JSON);
        self::assertSame([429, ['message' => 'Slow down.']], [$answer->status, $answer->json()]);
        self::assertSame([], preg_grep('/ratelimit|retry/', array_keys($answer->headers)));
    }

    public function testBesideThrottleTheHeadersTellOfTheOneWithLeastLeft(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/less', fn () => 1)->middleware(['sluice:3/m', 'throttle:9,1']);
            Route::get('/more', fn () => 1)->middleware(['sluice:9/m', 'throttle:3,1,more']);
            PHP)->serve();
        self::assertSame('2', $app->get('/api/less')->headers['x-ratelimit-remaining']);
        self::assertSame('2', $app->get('/api/more')->headers['x-ratelimit-remaining']);
    }

    /** Before routing there is no route: then it goes by the client. */
    public function testCanBeGlobal(): void
    {
        $kernel = (string) file_get_contents(dirname(__DIR__) . '/Apps/laravel/app/Http/Kernel.php');
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:2/m');", [], ['app/Http/Kernel.php' => str_replace(
            '    protected $middlewareGroups',
            "    protected \$middleware = ['Sluice\\Laravel\\LimitRequests:4/m'];\n    protected \$middlewareGroups",
            $kernel,
        )])->serve();
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/a'));
        self::assertSame([404, 429], self::statuses(2, $app, '/nothing'));
    }

    /** There the kernel is the framework's, and bootstrap/app.php says what is in it. */
    public function testWorksInTheSkeletonOfLaravel11AndLater(): void
    {
        $checkout = Checkout::of('LARAVEL_DIR', 'the skeleton of Laravel 11 and later: an application of such a version');
        if ($checkout === null || version_compare(LaravelApp::version(), '11', '<')) {
            $this->expectNotToPerformAssertions();
            return;
        }
        $routes = <<<'PHP'
            Route::get('/default', fn () => 1);
            Route::get('/mine', fn () => 1)->middleware(['sluice:1/m', 'auth']);
            PHP;
        $bootstrap = <<<'PHP'
            <?php
            use Illuminate\Foundation\Application;
            use Illuminate\Foundation\Configuration\{Exceptions, Middleware};
            return Application::configure(dirname(__DIR__))
                ->withProviders([App\Providers\AppServiceProvider::class], false)
                ->withRouting(web: __DIR__ . '/../routes/web.php', api: __DIR__ . '/../routes/api.php')
                ->withMiddleware(fn (Middleware $middleware) => $middleware->trustProxies(at: ['10.0.0.1'])
                    ->appendToGroup('api', 'App\Http\Nothing'))
                ->withExceptions(fn (Exceptions $exceptions) => null)
                ->create();
            PHP;
        $nothing = <<<'PHP'
            <?php
            namespace App\Http;
            class Nothing { public function handle($request, $next) { return $next($request); } }
            PHP;
        $app = self::app($routes, ['groups' => ['api' => 'twice'], 'policies' => ['twice' => '2/m']], [
            'bootstrap/app.php' => $bootstrap,
            'app/Http/Nothing.php' => $nothing,
            'config/app.php' => str_replace(
                'App\\Providers\\RouteServiceProvider::class,',
                '',
                (string) file_get_contents(dirname(__DIR__) . '/Apps/laravel/config/app.php'),
            ),
        ])->serve();
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/default'));
        self::assertSame([401, 401], self::statuses(2, $app, '/api/mine'));
        self::assertSame([200, 429], self::statuses(2, $app, '/api/mine', self::as('1')));
        $from = static fn (string $client): int =>
            $app->get('/api/default', self::JSON + ['X-Forwarded-For' => $client], '10.0.0.1')->status;
        self::assertSame([200, 200, 200, 429], [$from('192.0.2.1'), $from('192.0.2.2'), $from('192.0.2.1'), $from('192.0.2.1')]);
        self::assertSame('', preg_replace('/^.*Refused by.*\n/m', '', $app->log()));
    }
}
