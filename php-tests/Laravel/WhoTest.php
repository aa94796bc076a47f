<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

/** Who shares a count with whom, and who cannot choose it. */
final class WhoTest extends LaravelTestCase
{
    public function testGoesByUserElseByAddressAndByRoute(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/a', fn () => 1)->middleware('sluice:1/m');
            Route::get('/b', fn () => 1)->middleware('sluice:1/m');
            Route::post('/a', fn () => 1)->middleware('sluice:1/m');
            Route::get('/item/{id}', fn () => 1)->middleware('sluice:1/m');
            Route::name('group.')->get('/c', fn () => 1)->middleware('sluice:1/m');
            Route::name('group.')->group(function () {
                Route::get('/d', fn () => 1)->middleware('sluice:1/m');
                Route::get('/e', fn () => 1)->middleware('sluice:1/m');
            });
            Route::domain('other.test')->get('/a', fn () => 1)->middleware('sluice:1/m');
            PHP)->serve();
        self::assertSame([200, 429], self::statuses(2, $app, '/api/a', self::as('1')));
        self::assertSame([200, 429], self::statuses(2, $app, '/api/a', self::as('2')));
        self::assertSame([200, 429], self::statuses(2, $app, '/api/a'));
        self::assertSame(200, $app->get('/api/a', self::JSON, '192.0.2.1')->status);
        self::assertSame(200, $app->get('/api/b', self::JSON)->status);
        self::assertSame(200, $app->request('POST', '/api/a', self::JSON)->status);
        self::assertSame(429, $app->get('/api/a', self::as('1'), '192.0.2.1')->status, 'elsewhere, the same user');
        self::assertSame([200, 429], [$app->get('/api/item/1')->status, $app->get('/api/item/2')->status]);
        foreach (['/api/c', '/api/d', '/api/e'] as $unnamed) {
            self::assertSame(200, $app->get($unnamed)->status, $unnamed);
        }
    }

    public function testTwoUsersNeverShareACount(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');")->serve();
        $users = ['a<b', 'alb', 'josé', 'jose', "jos\u{65}\u{301}", '1', '01', '1 ', ',', '1,1', '4:user', 'ip', '127.0.0.1'];
        foreach ($users as $user) {
            self::assertSame(200, $app->get('/api/a', self::as(base64_encode($user)))->status, $user);
            self::assertSame(200, $app->get('/api/a', self::as(rawurlencode($user)))->status, $user);
        }
        // Users of two kinds with one identifier.
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');", [], [
            'app/Models/Admin.php' => "<?php\nnamespace App\\Models;\nclass Admin extends \\Illuminate\\Foundation\\Auth\\User"
                . " { protected \$guarded = []; protected \$keyType = 'string'; public \$incrementing = false; }",
            'app/Providers/AppServiceProvider.php' => strtr(self::provider(''), [
                'new User(' => 'new ($request->userAgent() === "admin" ? \App\Models\Admin::class : User::class)(',
                '): ?User {' => ') {',
            ]),
        ])->serve();
        self::assertSame(200, $app->get('/api/a', self::as('1'))->status);
        self::assertSame(200, $app->get('/api/a', self::as('1') + ['User-Agent' => 'admin'])->status);
        self::assertSame(429, $app->get('/api/a', self::as('1') + ['User-Agent' => 'admin'])->status);
    }

    public function testNobodyChoosesHisKeyByAHeaderThatNobodyTrusted(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');")->serve();
        $statuses = [];
        foreach (range(1, 4) as $number) {
            $statuses[] = $app->get('/api/a', self::JSON + [
                'X-Forwarded-For' => "198.51.100.{$number}",
                'Forwarded' => "for=198.51.100.{$number}",
                'X-Real-IP' => "198.51.100.{$number}",
                'Client-IP' => "198.51.100.{$number}",
                'CF-Connecting-IP' => "198.51.100.{$number}",
                'X-Forwarded-Host' => "host{$number}.test",
            ])->status;
        }
        self::assertSame([200, 429, 429, 429], $statuses);
    }

    public function testBehindATrustedProxyTheClientIsWhoItSaysItIs(): void
    {
        $kernel = (string) file_get_contents(dirname(__DIR__) . '/Apps/laravel/app/Http/Kernel.php');
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');", [], [
            'app/Http/Kernel.php' => str_replace(
                '    protected $middlewareGroups',
                "    protected \$middleware = [\\App\\Http\\Proxies::class];\n    protected \$middlewareGroups",
                $kernel,
            ),
            'app/Http/Proxies.php' => <<<'PHP'
                <?php
                namespace App\Http;
                class Proxies
                {
                    public function handle($request, $next)
                    {
                        $request->setTrustedProxies(['10.0.0.1'], \Illuminate\Http\Request::HEADER_X_FORWARDED_FOR);
                        return $next($request);
                    }
                }
                PHP,
        ])->serve();
        $from = static fn (string $list): int =>
            $app->get('/api/a', self::JSON + ['X-Forwarded-For' => $list], '10.0.0.1')->status;
        self::assertSame([200, 200], [$from('198.51.100.1'), $from('198.51.100.2')]);
        self::assertSame([429, 429], [$from('6.6.6.6, 198.51.100.1'), $from('7.7.7.7, 198.51.100.1')]);
        // An IPv6 client has a whole /64 to walk through.
        self::assertSame([200, 429, 200], [$from('2001:db8::1'), $from('2001:db8::2'), $from('2001:db8:0:1::1')]);
        // Who is no proxy is not believed.
        $forged = self::JSON + ['X-Forwarded-For' => '198.51.100.9'];
        self::assertSame(200, $app->get('/api/a', $forged, '192.0.2.7')->status);
        self::assertSame(429, $app->get('/api/a', self::JSON, '192.0.2.7')->status);
    }

    public function testALoginIsLimitedByAccountAndByAddressAtOnce(): void
    {
        $app = self::app("Route::post('/login', fn () => 'in')->middleware('sluice:login');", ['policies' => ['login' => [
            ['limit' => '3/m', 'by' => 'account:email'],
            ['limit' => '8/m', 'by' => 'ip'],
        ]]])->serve();
        $login = static fn (string $body, string $ip): int => $app->request('POST', '/api/login', self::JSON, $body, $ip)->status;
        // One account from everywhere, however it is written.
        self::assertSame([200, 200, 200, 429], [
            $login('email=ann@example.org', '192.0.2.1'), $login('email=ANN@example.org', '192.0.2.2'),
            $login('email=%20ann@example.org%20', '192.0.2.3'), $login('email=ann@example.org', '192.0.2.4'),
        ]);
        // Leaving it out, or sending a list, is no way around.
        self::assertSame([200, 200, 200, 429], [
            $login('', '192.0.2.5'), $login('email[]=x', '192.0.2.6'), $login('e=1', '192.0.2.7'), $login('x=1', '192.0.2.8'),
        ]);
        // A thousand accounts from one address.
        $statuses = array_map(static fn (int $n): int => $login("email=user{$n}@example.org", '203.0.113.1'), range(1, 12));
        self::assertSame([...array_fill(0, 8, 200), 429, 429, 429, 429], $statuses);
        // The accounts that the address was refused for have lost nothing.
        self::assertSame([200, 200, 200, 429], array_map(
            static fn (int $n): int => $login('email=user12@example.org', "198.51.100.{$n}"),
            range(1, 4),
        ));
    }
}
