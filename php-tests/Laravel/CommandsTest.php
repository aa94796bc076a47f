<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;

/** `artisan sluice:…`, beside a php-fpm that counts. */
final class CommandsTest extends LaravelTestCase
{
    private const ROUTES = <<<'PHP'
        Route::get('/orders', fn () => 1)->name('orders');
        Route::get('/report', fn () => 1)->middleware('sluice:1/h burst 2');
        Route::post('/login', fn () => 1)->middleware('sluice:login');
        Route::get('/numbers', fn () => 1)->defaults('limit_capacity', 5)->defaults('limit_rate', 0.5);
        Route::get('/plans', fn () => 1)->middleware('sluice:plans');
        Route::get('/theirs', fn () => 1)->withoutMiddleware('sluice')->middleware('throttle:60,1');
        Route::get('/meant', fn () => 1)->withoutMiddleware('sluice')->middleware('sluice:none');
        PHP;
    private const CONFIG = ['groups' => ['api' => 'tiers'], 'policies' => [
        'tiers' => [['limit' => '90/m', 'by' => 'site'], ['limit' => '20/m', 'by' => 'client+route']],
        'login' => [['limit' => '5/m', 'by' => 'account:email'], ['limit' => '30/m', 'by' => 'ip']],
    ]];
    private const PLANS = <<<'PHP'
        \Sluice\Laravel\Sluice::for('plans', fn ($request) => optional($request->user())->getAuthIdentifier() === '7'
            ? \Sluice\Limit::slidingWindow(4, 60)
            : '1/m');
        \Illuminate\Support\Facades\Auth::provider('eloquent', fn () => new class implements \Illuminate\Contracts\Auth\UserProvider {
            public function retrieveById($id) { return new User(['id' => $id]); }
            public function retrieveByToken($id, $token) { return null; }
            public function updateRememberToken($user, $token) {}
            public function retrieveByCredentials(array $credentials) { return null; }
            public function validateCredentials($user, array $credentials) { return false; }
            public function rehashPasswordIfRequired($user, array $credentials, bool $force = false) {}
        });
        PHP;

    public function testRoutesTellsWhatLimitsEachAndFailsIfOneIsOpen(): void
    {
        $app = self::app(self::ROUTES, self::CONFIG, ['app/Providers/AppServiceProvider.php' => self::provider(self::PLANS)]);
        $all = $app->artisan('sluice:routes', '--json');
        self::assertSame(1, $all->exitCode, $all->stdout . $all->stderr);
        $rows = array_column(json_decode($all->stdout, true), null, 'uri');
        $site = 'tiers: 90/m by site';
        $client = 'tiers: 20/m by client+route';
        self::assertSame([
            '/api/orders' => ['default', [$site, $client]],
            '/api/report' => ['sluice', [$site, $client, '1/h burst 2 by client+route']],
            '/api/login' => ['sluice', [$site, $client, 'login: 5/m by account:email', 'login: 30/m by ip']],
            '/api/numbers' => ['sluice', [$site, 'route: 30/m burst 5 by client+route']],
            '/api/plans' => ['sluice', [$site, $client, 'plans: decided by code']],
            '/api/theirs' => ['throttle', ['throttle:60,1']],
            '/api/meant' => ['sluice', ['none']],
            '/' => ['nothing', []],
        ], array_map(static fn (array $row): array => [$row['by'], $row['limits']], $rows));
        self::assertSame('orders', $rows['/api/orders']['name']);

        $table = $app->artisan('sluice:routes');
        self::assertSame(1, $table->exitCode);
        self::assertStringContainsString('| GET|HEAD | /api/orders  | orders | default    | tiers: 90/m by site', $table->stdout);
        self::assertStringContainsString('1 of 8 routes are not limited.', $table->stdout);
        $api = $app->artisan('sluice:routes', '--path=/api/*');
        self::assertSame(0, $api->exitCode);
        self::assertStringContainsString('All 7 routes are limited.', $api->stdout);
        $none = $app->artisan('sluice:routes', '--path=apis/*');
        self::assertSame(0, $none->exitCode);
        self::assertStringContainsString('There is no such route.', $none->stdout);
    }

    public function testRoutesFailsForAPolicyThatIsNotThere(): void
    {
        // Whatever else limits the route: it answers with errors only.
        $app = self::app("Route::get('/a', fn () => 1)->middleware(['sluice:nope', 'throttle:60,1']);");
        $result = $app->artisan('sluice:routes', '--path=api/*');
        self::assertSame(1, $result->exitCode);
        self::assertStringContainsString('there is no policy "nope"', $result->stdout);
    }

    public function testAKeyIsFoundAsTheLogHasIt(): void
    {
        $ini = ['sluice.shm_path' => TempDir::make()->file('counts')];
        $app = self::app(<<<'PHP'
            class Exports { #[RateLimit('2/h', by: 'ip')] public function show() { return 1; } }
            Route::get('/attribute', [Exports::class, 'show']);
            Route::get('/slow', fn () => 1)->defaults('limit_capacity', 1)->defaults('limit_rate', 0.001);

            PHP . self::ROUTES, self::CONFIG, ['app/Providers/AppServiceProvider.php' => self::provider(self::PLANS)]);
        $app->serve($ini);
        foreach (['attribute' => 3, 'slow' => 2, 'report' => 3, 'plans' => 2, 'orders' => 21] as $route => $times) {
            self::statuses($times, $app, "/api/{$route}");
        }
        preg_match_all('/\{"key".*?\}/', $app->log(), $lines);
        $denied = array_map(static fn (string $line): array => json_decode($line, true), $lines[0]);
        self::assertSame(['spec:2/h', 'route', '', 'plans', 'tiers.1'], array_column($denied, 'policy'));
        foreach ($denied as ['key' => $key, 'policy' => $policy]) {
            foreach ($policy === '' ? [[$key]] : [[$key], [$key, $policy]] as $arguments) {
                $why = $app->artisanWith($ini, 'sluice:why', ...$arguments);
                $words = $policy === 'plans' ? 'plans is decided by code' : 'the next request is refused';
                self::assertStringContainsString($words, $why->stdout, implode(' ', $arguments) . $why->stderr);
            }
        }
        self::assertStringContainsString('Forgotten: route (', $app->artisanWith($ini, 'sluice:reset', $denied[1]['key'])->stdout);
    }

    public function testWhyTellsInWordsAndResetForgets(): void
    {
        $server = RedisServer::start();
        $app = self::app(self::ROUTES, ['store' => $server->dsn()] + self::CONFIG, [
            'app/Providers/AppServiceProvider.php' => self::provider(self::PLANS),
        ])->serve(['sluice.near' => '0']);
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/report', self::as('7')));
        self::assertSame([200, 200], self::statuses(2, $app, '/api/plans', self::as('7')));
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/report', self::as('8')));
        foreach (range(1, 6) as $ignored) {
            $app->request('POST', '/api/login', self::JSON, 'email=ann@example.org', '192.0.2.1');
        }

        $why = $app->artisan('sluice:why', 'user:7');
        self::assertSame([0, ''], [$why->exitCode, $why->stderr]);
        self::assertMatchesRegularExpression('/^1\/h burst 2 on GET\|HEAD \/api\/report: the next request is refused\. '
            . '0 of 2 left; it passes in 60 min; full again in (120 min|2\.0 h)\. Asked: redis\.$/m', $why->stdout);
        self::assertStringContainsString('plans (4/m) on GET|HEAD /api/plans: the next request passes. 2 of 4 left;', $why->stdout);
        self::assertStringContainsString('tiers.0 (90/m) on orders, shared with others: the next request passes. 79 of 90 left;', $why->stdout);
        self::assertStringNotContainsString('login', $why->stdout);

        $account = $app->artisan('sluice:why', 'account:email=Ann@example.org')->stdout;
        self::assertStringContainsString('login.0 (5/m) on POST /api/login: the next request is refused. 0 of 5 left', $account);
        $address = $app->artisan('sluice:why', 'ip:192.0.2.1', 'login')->stdout;
        self::assertStringContainsString('login.1 (30/m) on POST /api/login: the next request passes. 25 of 30 left', $address);

        // As the log has it.
        preg_match('/"key":"((?:[^"\\\\]|\\\\.)*)"/', $app->log(), $logged);
        $key = json_decode("\"{$logged[1]}\"");
        $json = $app->artisan('sluice:why', $key, '--json')->stdout;
        self::assertSame([['20/m', true, 18], ['1/h burst 2', false, 0]], array_map(
            static fn (array $row): array => [$row['limit_spec'], $row['allowed'], $row['remaining']],
            json_decode($json, true),
        ), $json);
        self::assertStringContainsString('is refused', $app->artisan('sluice:why', $key, '1/h burst 2')->stdout);
        self::assertStringContainsString('Nothing is spent', $app->artisan('sluice:why', 'user:9')->stdout
            . $app->artisan('sluice:why', 'nobody')->stdout);

        self::assertSame(429, $app->get('/api/report', self::as('7'))->status, 'looking took and gave nothing');
        $reset = $app->artisan('sluice:reset', 'user:7');
        self::assertStringContainsString('Forgotten: 1/h burst 2 on GET|HEAD /api/report.', $reset->stdout);
        self::assertStringNotContainsString('tiers.0', $reset->stdout);
        self::assertStringContainsString('A host that has just refused it may go on for 1s', $reset->stdout);
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/report', self::as('7')));
        self::assertSame([429], self::statuses(1, $app, '/api/report', self::as('8')), 'nobody else gained');
        self::assertStringContainsString('Forgotten', $app->artisan('sluice:reset', $key, '1/h burst 2')->stdout);
        self::assertStringContainsString('Nothing was spent.', $app->artisan('sluice:reset', $key, '1/h burst 2')->stdout);
        $unknown = $app->artisan('sluice:why', 'user:7', 'nope');
        self::assertNotSame(0, $unknown->exitCode);
    }

    public function testWarnsWhereItCannotSeeWhatPhpFpmCounted(): void
    {
        $app = self::app(self::ROUTES, self::CONFIG);
        $warning = 'the command line has one of its own';
        $why = preg_replace('/\s+/', ' ', $app->artisan('sluice:why', 'ip:192.0.2.1')->stdout);
        self::assertStringContainsString($warning, $why);
        $shared = $app->artisanWith(['sluice.shm_path' => $app->path('shm')], 'sluice:why', 'ip:192.0.2.1')->stdout;
        self::assertStringNotContainsString($warning, (string) preg_replace('/\s+/', ' ', $shared));
    }
}
