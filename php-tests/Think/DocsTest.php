<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\Process;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\ThinkApp;
use Sluice\Tests\Support\Wait;

/** docs/thinkphp.md, followed step by step: each command is run, each snippet put where it says. */
final class DocsTest extends ThinkTestCase
{
    private const DOCS = __DIR__ . '/../../docs';

    /** Entries that a reader would not take all at once. */
    private const ALTERNATIVES = ['drop_in', 'without_extension', 'trusted_proxies', 'user'];

    public function testFromInstallToTheFirst429AndBackByTheCommands(): void
    {
        $memory = TempDir::make()->file('counts');
        $ini = ['sluice.shm_path' => $memory];
        self::assertSame('sluice.shm_path = /run/sluice/counts', trim(self::only('ini')));
        $app = self::documented()->serve($ini);
        $answers = [];
        $printed = '';
        foreach (self::commands() as $command) {
            match (true) {
                $command === 'composer require sluice/adapters' => self::assertSame(
                    'sluice/adapters',
                    json_decode((string) file_get_contents(self::DOCS . '/../php/composer.json'))->name,
                ),
                // nginx and php-fpm are there instead.
                $command === 'php think run' => self::assertStringContainsString('run', $app->think('list')->stdout),
                // Has a test of its own.
                $command === 'php think queue:work --once' => null,
                str_starts_with($command, 'php think ') => $printed .= self::think($app, $command, $ini),
                str_starts_with($command, 'curl -i http://localhost:8000') => $answers[] = $app->get(
                    substr($command, strlen('curl -i http://localhost:8000')),
                ),
                default => self::fail("nobody runs: {$command}"),
            };
        }
        self::assertSame(
            [200, 200, 200, 429],
            array_map(static fn (HttpResponse $answer) => $answer->status, $answers),
        );
        [$head, $body] = explode("\n\n", self::only('http'), 2);
        $shown = HttpResponse::parse(str_replace("\n", "\r\n", $head) . "\r\n\r\n" . trim($body));
        $text = static fn (HttpResponse $response): string => preg_replace('/\d+/', 'N', $response->body);
        // The text is that of the think-throttle that is there, else of its newest.
        $expected = $app->hasAttributes() ? $text($shown) : 'Too Many Requests';
        self::assertSame([$shown->status, $expected], [$answers[3]->status, $text($answers[3])]);
        self::assertSame([], array_diff_key($shown->headers, $answers[3]->headers));
        foreach (['x-rate-limit-limit', 'x-rate-limit-remaining'] as $header) {
            self::assertSame($shown->headers[$header], $answers[3]->headers[$header]);
        }
        $pattern = preg_replace('/\d+\\\\\.\d/', '\d+\.\d', preg_quote(trim(self::only('text')), '/'));
        self::assertMatchesRegularExpression("/^{$pattern}$/m", $printed);
        self::assertStringContainsString('Forgotten: throttle.route (3/m fixed) on get report', $printed);
        self::assertSame(200, $app->get('/report')->status, 'what was spent is forgotten');
    }

    public function testWhatThePageSaysOfPoliciesAndAttributesIsSo(): void
    {
        $app = self::documented()->serve();
        $post = static fn (string $target, string $body): int => $app->request('POST', $target, [], $body)->status;
        $login = array_map(static fn () => $post('/login', 'email=ann@example.org'), range(1, 6));
        self::assertSame([200, 200, 200, 200, 200, 429], $login);
        $sms = array_map(static fn (int $phone): int => $post('/sms', "phone={$phone}"), [1, 1, 2]);
        self::assertSame([200, 429, 200], $sms);
        $yearly = $app->get('/yearly')->headers;
        self::assertSame(['2', '1'], [$yearly['x-rate-limit-limit'], $yearly['x-rate-limit-remaining']]);
        self::assertSame(200, $app->get('/yearly')->status, 'the permit was given back');
        self::assertSame(200, $app->get('/coupon/take')->status);
        $second = $app->get('/coupon/take');
        self::assertSame([429, 'One coupon a day'], [$second->status, $second->body]);
        self::assertSame([200, 200, 200], self::statuses(3, static fn () => $app->get('/coupon/statistics')));
        self::assertSame(200, $app->get('/coupon/take', ip: '192.0.2.1')->status);
        self::assertSame(200, $app->get('/coupon/take', ip: '192.0.2.1')->status, 'on the allow list');
    }

    public function testATestOfTheirsNeedsNoSleep(): void
    {
        $app = self::documented();
        $snippet = (string) file_get_contents($app->path('tests/limits.php'));
        self::assertSame(1, preg_match('~// ([\d ]+)$~m', $snippet, $shown));
        $result = $app->code("chdir('{$app->path()}'); require 'tests/limits.php';");
        self::assertSame([$shown[1], ''], [trim($result->stdout), $result->stderr]);
    }

    public function testEachOfTheAlternativesIsRead(): void
    {
        foreach (self::ALTERNATIVES as $alternative) {
            $app = self::documented([$alternative])->serve();
            self::assertSame(200, $app->get('/report')->status, $alternative);
        }
    }

    public function testJobsArePutBackForAsLongAsTheyHaveToWait(): void
    {
        $redis = RedisServer::startOnPort();
        $app = self::queueing($redis);
        $push = 'think\facade\Queue::push(app\job\SendMail::class, ["domain" => "example.org", "to" => "%s"]);';
        $app->code('(new think\App())->initialize();' . implode('', array_map(
            static fn (string $to): string => sprintf($push, $to),
            ['ann', 'ben', 'cid'],
        )));
        foreach (range(1, 3) as $ignored) {
            $result = $app->think('queue:work', '--once');
            self::assertSame(0, $result->exitCode, $result->stdout . $result->stderr);
        }
        self::assertSame("ann\nben\n", file_get_contents($app->path('runtime/mails')));
        self::assertSame(1, $redis->command('ZCARD', '{queues:default}:delayed'));
        [, $at] = $redis->command('ZRANGE', '{queues:default}:delayed', 0, -1, 'WITHSCORES');
        self::assertEqualsWithDelta(time() + 60, (int) $at, 15);
    }

    public function testExportsStartOneAfterAnotherAndCallBack(): void
    {
        $redis = RedisServer::startOnPort();
        [$port, $heard] = self::listener();
        $app = self::queueing($redis, "http://127.0.0.1:{$port}/")->serve(['sluice.timeout' => '10s']);
        $answers = array_map(
            static fn (int $number): HttpResponse => $app->request('POST', '/export', [], "of=orders-{$number}"),
            range(1, 8),
        );
        self::assertSame(
            [202, 202, 202, 202, 202, 202, 202, 429],
            array_map(static fn (HttpResponse $answer) => $answer->status, $answers),
        );
        foreach (array_slice($answers, 0, 7) as $number => $answer) {
            self::assertEqualsWithDelta(10 * $number, $answer->json()['starts_in'], 5, $answer->body);
        }
        self::assertEqualsWithDelta(10, (int) $answers[7]->headers['retry-after'], 9);
        self::assertSame(7, $redis->command('ZCARD', '{queues:default}:delayed'));

        $first = Wait::until('the first export has called back', static function () use ($app, $heard): ?string {
            $app->think('queue:work', '--once', '--sleep', '0');
            return is_file($heard) ? (string) file_get_contents($heard) : null;
        });
        self::assertSame('{"of":"orders-1","rows":3}', $first);
    }

    /**
     * The application with all that the page shows.
     *
     * @param list<string> $alternatives entries that are taken this time
     */
    private static function documented(array $alternatives = []): ThinkApp
    {
        $entries = ['config/sluice.php' => '', 'config/route.php' => ''];
        $files = ['config/throttle.php' => self::config([]), 'route/sluice.php' => '<?php'];
        foreach (self::blocks('thinkphp.md') as [$language, $path, $text]) {
            if ($language !== 'php') {
                continue;
            }
            if (str_starts_with($text, '<?php')) {
                $files[$path] = $text;
            } elseif (!in_array(strtok($text, "'"), array_diff(self::ALTERNATIVES, $alternatives), true)) {
                $entries[$path] .= $text;
            }
        }
        $route = var_export(include getenv('THINKPHP_DIR') . '/config/route.php', true);
        $files['config/sluice.php'] = "<?php return [{$entries['config/sluice.php']}];";
        $files['config/route.php'] = "<?php return [{$entries['config/route.php']}] + {$route};";
        return ThinkApp::make($files);
    }

    /** The same with a queue and its counts in this Redis. */
    private static function queueing(RedisServer $redis, string $callback = ''): ThinkApp
    {
        $app = self::documented();
        $connection = [
            'type' => 'redis', 'queue' => 'default', 'host' => '127.0.0.1', 'port' => $redis->port(),
            'password' => '', 'select' => 0, 'timeout' => 0, 'persistent' => false,
        ];
        $app->write('config/queue.php', self::config([
            'default' => 'redis', 'failed' => ['type' => 'none'], 'connections' => ['redis' => $connection],
        ]));
        $app->write('config/sluice.php', self::config(['store' => $redis->dsn()]));
        $app->write('config/app.php', str_replace(
            'return [',
            "return ['export_callback' => '{$callback}',",
            (string) file_get_contents($app->path('config/app.php')),
        ));
        return $app;
    }

    /** A web server that writes down what it is sent. @return array{int, string} port and file */
    private static function listener(): array
    {
        $dir = TempDir::make();
        $code = '<?php file_put_contents(__DIR__ . "/heard", file_get_contents("php://input"));';
        $script = $dir->write('index.php', $code);
        $socket = stream_socket_server('tcp://127.0.0.1:0');
        $port = (int) substr((string) strrchr((string) stream_socket_get_name($socket, false), ':'), 1);
        fclose($socket);
        new Process([PHP_BINARY, '-n', '-S', "127.0.0.1:{$port}", $script], $dir->file('out'), $dir->file('out'));
        Wait::until('it listens', static fn (): bool => @stream_socket_client("tcp://127.0.0.1:{$port}") !== false);
        @unlink($dir->file('heard'));
        return [$port, $dir->file('heard')];
    }

    /** @param array<string, string> $ini */
    private static function think(ThinkApp $app, string $command, array $ini): string
    {
        $result = $app->thinkWith($ini, ...explode(' ', substr($command, strlen('php think '))));
        self::assertSame('', $result->stderr, $command);
        return $result->stdout . "\n";
    }

    /** @return list<string> */
    private static function commands(): array
    {
        $commands = [];
        foreach (self::blocks('thinkphp.md') as [$language, , $text]) {
            $commands = [...$commands, ...($language === 'sh' ? explode("\n", trim($text)) : [])];
        }
        return $commands;
    }

    private static function only(string $language): string
    {
        $texts = array_column(
            array_filter(self::blocks('thinkphp.md'), static fn (array $block): bool => $block[0] === $language),
            2,
        );
        self::assertCount(1, $texts, $language);
        return $texts[0];
    }

    /** @return list<array{string, string, string}> language, path and text of each block of code */
    public static function blocks(string $page): array
    {
        $text = (string) file_get_contents(self::DOCS . "/{$page}");
        preg_match_all('/^```(\w+) ?([^\n]*)\n(.*?)^```$/ms', $text, $found, PREG_SET_ORDER);
        return array_map(static fn (array $block): array => array_slice($block, 1), $found);
    }
}
