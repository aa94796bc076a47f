<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\LaravelApp;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\Wait;

/** docs/laravel.md, followed step by step: each command is run, each snippet put where it says. */
final class DocsTest extends LaravelTestCase
{
    private const DOCS = __DIR__ . '/../../docs';

    /** Entries that a reader would not take all at once. */
    private const ALTERNATIVES = ['responder', 'drop_in', 'store'];

    public function testBothLanguagesShowTheSameCode(): void
    {
        self::assertNotSame([], self::blocks('laravel.md'));
        self::assertSame(self::blocks('laravel.md'), self::blocks('laravel.zh-CN.md'));
        foreach (['laravel.md', 'laravel.zh-CN.md'] as $page) {
            preg_match_all('/\]\(([\w.\/-]+)/', (string) file_get_contents(self::DOCS . "/{$page}"), $links);
            foreach ($links[1] as $link) {
                self::assertFileExists(self::DOCS . "/{$link}", $page);
            }
        }
    }

    /** Whatever a block is, a test here runs it. */
    public function testNoBlockIsOfAKindThatNobodyRuns(): void
    {
        foreach (self::blocks('laravel.md') as [$language, $path, $text]) {
            self::assertContains($language, ['sh', 'php', 'http', 'text', 'ini'], $text);
            self::assertSame(in_array($language, ['php', 'ini'], true), $path !== '', $text);
        }
    }

    public function testFromInstallToTheFirst429AndBackByTheCommands(): void
    {
        $redis = RedisServer::startOnPort();
        $app = self::documented(['store'], ['REDIS_PORT' => $redis->port()]);
        $app->serve(['sluice.timeout' => '10s']);
        $answers = [];
        $printed = '';
        foreach (self::commands() as $command) {
            match (true) {
                $command === 'composer require sluice/adapters' => self::assertSame(
                    'sluice/adapters',
                    json_decode((string) file_get_contents(self::DOCS . '/../php/composer.json'))->name,
                ),
                $command === 'vendor/bin/phpunit' => self::assertTestsPass(2, $app),
                // nginx and php-fpm are there instead.
                $command === 'php artisan serve' => self::assertTrue($app->artisan('help', 'serve')->exitCode === 0),
                // The route that the page leaves open is not there yet.
                str_contains($command, 'sluice:routes') => self::assertStringContainsString(
                    'The one route is limited',
                    self::artisan(self::published(), $command),
                ),
                str_starts_with($command, 'php artisan ') => $printed .= self::artisan($app, $command),
                str_starts_with($command, 'curl ') => $answers[] = self::curl($app, $command),
                default => self::fail("nobody runs: {$command}"),
            };
        }
        self::assertSame([200, 200, 200, 429], array_map(static fn (HttpResponse $answer) => $answer->status, $answers));

        [$head, $body] = explode("\n\n", self::only('http'), 2);
        $shown = HttpResponse::parse(str_replace("\n", "\r\n", $head) . "\r\n\r\n" . $body);
        self::assertSame($shown->status, $answers[3]->status);
        self::assertEquals($shown->json(), $answers[3]->json());
        self::assertSame([], array_diff_key($shown->headers, $answers[3]->headers));
        foreach (['x-ratelimit-limit', 'x-ratelimit-remaining'] as $header) {
            self::assertSame($shown->headers[$header], $answers[3]->headers[$header]);
        }
        $pattern = preg_replace('/\d+\\\\\.\d/', '\d+\.\d', preg_quote(trim(self::only('text')), '/'));
        self::assertMatchesRegularExpression("/^{$pattern}$/m", $printed);
        self::assertStringContainsString('Forgotten: 3/m on GET|HEAD /api/report', $printed);
    }

    public function testWhatThePageSaysOfRoutesIsSo(): void
    {
        $app = self::documented()->serve();
        self::assertSame([...array_fill(0, 10, 200), 429], self::statuses(11, $app, '/api/search'));
        self::assertSame([200, 200], self::statuses(2, $app, '/api/export'));
        self::assertSame([...array_fill(0, 10, 200), 429], self::statuses(11, $app, '/api/image/7'));
        self::assertSame('image 7', $app->get('/api/image/7', self::as('2'))->body);
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/api/exports/one'));
        self::assertSame('60', $app->get('/api/exports')->headers['x-ratelimit-limit']);
        self::assertArrayNotHasKey('x-ratelimit-limit', $app->get('/api/health')->headers);
        self::assertSame('40', $app->get('/api/orders')->headers['x-ratelimit-limit']);
        $login = static fn (string $email): int => $app->request('POST', '/api/login', [], "email={$email}")->status;
        self::assertSame([200, 200, 200, 200, 200, 429], array_map($login, array_fill(0, 6, 'ann@example.org')));
        $signIn = static fn (string $email): int => $app->request('POST', '/api/signin', [], "email={$email}")->status;
        $one = ['jose@example.org', 'JOSE@example.org', 'josé@example.org', 'JOSÉ@example.org', 'jòse@example.org'];
        self::assertSame([200, 200, 200, 200, 200, 429], array_map($signIn, [...$one, 'josê@example.org']));
        self::assertSame(200, $app->get('/api/exports/one', [], '10.1.1.1')->status, 'allowed by its network');
        self::assertSame(200, $app->get('/api/exports/one', self::as('1'))->status, 'allowed as a user');

        $routes = $app->artisan('sluice:routes', '--json')->stdout;
        $by = array_column(json_decode($routes, true), 'by', 'uri');
        self::assertSame(['nothing', 'sluice', 'default'], [$by['/api/health'], $by['/api/open'], $by['/api/reports']]);
    }

    public function testTheResponderAnswers(): void
    {
        $app = self::documented(['responder'])->serve();
        self::statuses(2, $app, '/api/exports/one');
        $answer = $app->get('/api/exports/one');
        self::assertSame(429, $answer->status);
        self::assertSame('busy', $answer->json()['error']);
        self::assertContains($answer->json()['retry_after'], range(1, 10));
    }

    public function testTheDropInIsOneLine(): void
    {
        $app = self::documented(['drop_in']);
        $app->write('routes/web.php', '<?php Illuminate\Support\Facades\Route::get("/old", fn () => 1)->middleware("throttle:2,1");');
        $app->serve();
        self::assertSame([200, 200, 429], self::statuses(3, $app, '/old'));
        self::assertStringStartsWith('Sluice\\', $app->code('echo get_class($app->make(Illuminate\Cache\RateLimiter::class));')->stdout);
    }

    public function testJobsAreReleasedForAsLongAsTheyHaveToWait(): void
    {
        $result = self::documented()->code(<<<'PHP'
            Sluice\Store::fake();
            $released = [];
            foreach (['1', '1', '2'] as $phone) {
                $job = new App\Jobs\SendSms($phone);
                $job->job = new class ($released) {
                    public function __construct(private &$released) {}
                    public function release($delay) { $this->released[] = $delay; }
                };
                (new Illuminate\Pipeline\Pipeline($app))->send($job)->through($job->middleware())->then(fn ($job) => $job->handle());
            }
            echo json_encode([$released, $job->retryUntil() > now()]);
            PHP);
        self::assertSame([[60], true], $result->json());
    }

    public function testAReportIsQueuedInsteadOfRefusedAndCallsBack(): void
    {
        $redis = RedisServer::startOnPort();
        $app = self::documented([], ['REDIS_PORT' => $redis->port()], static fn (string $provider): string => str_replace(
            "new User(['id' => \$id]",
            "new User(['id' => \$id, 'callback_url' => file_get_contents(storage_path('callback'))]",
            $provider,
        ));
        $app->write('config/queue.php', "<?php return ['default' => 'redis', 'failed' => ['driver' => 'null'], 'connections' => ['redis' => "
            . "['driver' => 'redis', 'connection' => 'default', 'queue' => 'default', 'retry_after' => 90, 'block_for' => null]]];");
        $receiver = stream_socket_server('tcp://127.0.0.1:0');
        $app->write('storage/callback', 'http://' . stream_socket_get_name($receiver, false) . '/done');
        $app->serve();
        $answers = array_map(
            static fn (): HttpResponse => $app->request('POST', '/api/reports', self::as('2')),
            range(1, 9),
        );
        self::assertSame([...array_fill(0, 8, 202), 429], array_map(static fn ($answer) => $answer->status, $answers));
        foreach ([0, 0, 10, 20, 30, 40, 50, 60] as $number => $seconds) {
            // A slow machine has waited for some of it already.
            self::assertContains($answers[$number]->json()['starts_in'], range(max(0, $seconds - 9), $seconds));
            self::assertEquals($answers[$number]->json()['starts_in'], $answers[$number]->headers['retry-after']);
        }
        self::assertGreaterThanOrEqual(1, (int) $answers[8]->headers['retry-after']);
        self::assertSame(401, $app->request('POST', '/api/reports', self::JSON)->status);
        $waiting = $redis->command('ZRANGE', 'queues:default:delayed', 0, -1, 'WITHSCORES');
        self::assertCount(2 * 8, $waiting);

        // Those that are due run, and call back.
        $worker = $app->artisanInBackground('queue:work', '--once');
        $caller = @stream_socket_accept($receiver, Wait::PATIENCE);
        self::assertNotFalse($caller, $app->log());
        $call = '';
        while (!str_contains($call, '}')) {
            $call .= fread($caller, 8192);
        }
        fwrite($caller, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        fclose($caller);
        self::assertSame(0, $worker->wait(Wait::PATIENCE));
        self::assertStringStartsWith('POST /done ', $call);
        ['id' => $id, 'status' => $status] = json_decode(explode("\r\n\r\n", $call)[1], true);
        self::assertSame('done', $status);
        self::assertContains($id, [$answers[0]->json()['id'], $answers[1]->json()['id']], 'of those that need not wait');
    }

    /**
     * The application as the page makes it.
     *
     * @param list<string> $chosen of the entries of the configuration that are alternatives
     * @param array<string, string|int> $env
     * @param (\Closure(string): string)|null $provide what else the provider needs
     */
    private static function documented(array $chosen = [], array $env = [], ?\Closure $provide = null): LaravelApp
    {
        self::assertSame('SLUICE_WITHOUT_EXTENSION=true', self::only('ini'));
        $app = self::published($env + ['SLUICE_WITHOUT_EXTENSION' => true]);
        rename($app->path('config/sluice.php'), $app->path('published.php'));

        $routes = "<?php\nuse Illuminate\\Support\\Facades\\Route;\n";
        $boot = '';
        $config = [];
        foreach (self::blocks('laravel.md') as [$language, $path, $text]) {
            if ($language !== 'php') {
                continue;
            }
            match (true) {
                $path === 'routes/api.php' => $routes .= $text,
                $path === 'config/sluice.php' => preg_match("/^'(\w+)' => /", $text, $entry) === 1
                    && (!in_array($entry[1], self::ALTERNATIVES, true) || in_array($entry[1], $chosen, true))
                    && $config[] = $text,
                $path === 'app/Providers/AppServiceProvider.php' => $boot .= $text,
                default => $app->write($path, $text),
            };
        }
        $app->write('routes/api.php', $routes);
        $provider = self::provider($boot);
        $app->write('app/Providers/AppServiceProvider.php', $provide === null ? $provider : $provide($provider));
        $app->write('config/sluice.php', "<?php\nreturn array_replace(require __DIR__ . '/../published.php', [\n"
            . implode('', $config) . "]);\n");
        return $app;
    }

    /**
     * An application that has just installed the package.
     *
     * @param array<string, string|int|bool> $env
     */
    private static function published(array $env = []): LaravelApp
    {
        $app = LaravelApp::make($env);
        unlink($app->path('config/sluice.php'));
        self::artisan($app, 'php artisan vendor:publish --tag=sluice-config');
        self::assertFileEquals(self::DOCS . '/../php/config/sluice.php', $app->path('config/sluice.php'));
        return $app;
    }

    private static function artisan(LaravelApp $app, string $command): string
    {
        // A busy machine is no failure.
        $result = $app->artisanWith(['sluice.timeout' => '10s'], ...array_slice(explode(' ', $command), 2));
        self::assertSame([0, ''], [$result->exitCode, $result->stderr], "{$command}\n{$result->stdout}{$app->log()}");
        return $result->stdout;
    }

    private static function curl(LaravelApp $app, string $command): HttpResponse
    {
        self::assertSame(1, preg_match("#^curl -i (?:-H '([\w-]+): ([^']+)' )?http://localhost:8000(/\S*)$#", $command, $parts));
        return $app->get($parts[3], $parts[1] === '' ? [] : [$parts[1] => $parts[2]]);
    }

    /** @return list<string> */
    private static function commands(): array
    {
        $commands = [];
        foreach (self::blocks('laravel.md') as [$language, , $text]) {
            $language === 'sh' && array_push($commands, ...explode("\n", trim($text)));
        }
        return $commands;
    }

    /** The one block of this kind. */
    private static function only(string $language): string
    {
        $blocks = array_values(array_filter(self::blocks('laravel.md'), static fn (array $block) => $block[0] === $language));
        self::assertCount(1, $blocks);
        return trim($blocks[0][2]);
    }

    /** @return list<array{string, string, string}> language, path, text */
    private static function blocks(string $page): array
    {
        preg_match_all('/^```(\w+)(?: (\S+))?\n(.*?)^```$/ms', (string) file_get_contents(self::DOCS . "/{$page}"), $found, PREG_SET_ORDER);
        return array_map(static fn (array $block): array => [$block[1], $block[2], $block[3]], $found);
    }
}
