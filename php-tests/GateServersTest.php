<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\Extension;
use Sluice\Tests\Support\HttpServer;
use Sluice\Tests\Support\Process;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\Wait;

/** The gate under the other SAPIs that docs/gate.md names. */
final class GateServersTest extends TestCase
{
    private const TOML = <<<'TOML'
        [gate]
        deny = { header = { User-Agent = "bad" } }
        [[gate.rule]]
        name = "closed"
        path = "/closed"
        limit = "0/h"
        answer = { text = "refused" }
        [[gate.rule]]
        name = "open"
        path = "/open"
        key = "query:k"
        limit = ["2/h", "1 concurrent"]
        headers = true
        TOML;

    private const CODE = <<<'PHP'
        <?php
        echo json_encode([$_SERVER['REQUEST_URI'], $_POST, file_get_contents('php://input'), Sluice\Gate::rule()]);
        PHP;

    private TempDir $root;

    private function ini(): array
    {
        $dir = TempDir::make();
        $this->root = TempDir::make();
        $this->root->write('index.php', self::CODE);
        $this->root->write('static.txt', 'static');
        $log = $dir->write('log', '');
        chmod($log, 0o666);
        return [
            'sluice.config' => $dir->write('sluice.toml', self::TOML),
            'error_log' => $log,
        ];
    }

    private static function start(string $server, TempDir $root, array $ini): HttpServer
    {
        return $server === 'apache' ? HttpServer::apache($root->path, $ini) : HttpServer::builtin($root->path, $ini);
    }

    /** @dataProvider servers */
    public function testARefusalIsAnsweredAndTheWorkerLivesOn(string $name): void
    {
        $ini = $this->ini();
        $server = self::start($name, $this->root, $ini);
        foreach (range(1, 20) as $_) {
            $refused = $server->get('/closed?x');
            self::assertSame([429, 'refused'], [$refused->status, $refused->body]);
            self::assertSame(429, $server->get('//closed/')->status);
            self::assertSame(429, $server->get('/index.php/closed')->status);
            self::assertSame(429, $server->get('/x/../%63losed')->status);
            $head = $server->get('/closed', method: 'HEAD');
            self::assertSame([429, ''], [$head->status, $head->body]);
            $form = ['Content-Type' => 'application/x-www-form-urlencoded'];
            self::assertSame(429, $server->get('/closed', $form, 'POST', 'a=' . str_repeat('x', 50_000))->status);
            self::assertSame(403, $server->get('/', ['User-Agent' => 'bad'])->status);
            self::assertSame(['/x', ['a' => '1'], 'a=1', null], $server->get('/x', $form, 'POST', 'a=1')->json());
        }
        self::assertStringContainsString('refused a request: rule closed', file_get_contents($ini['error_log']));
    }

    /** @dataProvider servers */
    public function testARuleCountsAndItsPermitsComeBack(string $name): void
    {
        $ini = $this->ini();
        $server = self::start($name, $this->root, $ini);
        $first = $server->get('/open?k=1');
        self::assertSame('open', $first->json()[3]);
        self::assertStringContainsString('"open";r=1', $first->headers['ratelimit']);
        $statuses = array_map(fn () => $server->get('/open?k=1')->status, range(1, 3));
        self::assertSame([200, 429, 429], $statuses);
        self::assertSame(200, $server->get('/open?k=2')->status);
    }

    /** PHP starts a second time in the same process then. */
    public function testApacheMayReload(): void
    {
        $ini = $this->ini();
        $server = self::start('apache', $this->root, $ini);
        foreach (range(1, 3) as $round) {
            self::assertSame([429, 200], [$server->get('/closed')->status, $server->get('/x')->status]);
            $server->reload();
            Wait::until('it has reloaded', fn () => substr_count($server->log(), 'resuming normal operations') > $round ?: null);
        }
        self::assertSame([429, 200], [$server->get('/closed')->status, $server->get('/x')->status]);
        self::assertStringNotContainsString('Segmentation', $server->log());
    }

    /** A file that PHP does not serve is none of the gate's business. */
    public function testStaticFilesPassBy(): void
    {
        $ini = $this->ini();
        file_put_contents($ini['sluice.config'], "[[gate.rule]]\nname = \"all\"\nlimit = \"0/h\"\n");
        foreach (['apache', 'builtin'] as $name) {
            $server = self::start($name, $this->root, $ini);
            self::assertSame([429, 200], [$server->get('/')->status, $server->get('/static.txt')->status]);
        }
    }

    public static function servers(): iterable
    {
        yield 'Apache with mod_php' => ['apache'];
        yield 'php -S' => ['builtin'];
    }

    public function testCgiIsGatedToo(): void
    {
        $ini = $this->ini();
        foreach (['/closed' => 'refused', '/other' => 'other'] as $uri => $expected) {
            $dir = TempDir::make();
            $process = new Process(
                [
                    'php-cgi8.2', '-n', '-d', 'extension=' . Extension::path(),
                    '-d', "sluice.config=\"{$ini['sluice.config']}\"", '-d', "error_log=\"{$ini['error_log']}\"",
                ],
                $dir->file('stdout'),
                $dir->file('stderr'),
                environment: [
                    'REDIRECT_STATUS' => '1', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => $uri,
                    'SCRIPT_FILENAME' => $this->root->file('index.php'), 'SCRIPT_NAME' => '/index.php',
                    'REMOTE_ADDR' => '203.0.113.7', 'QUERY_STRING' => '',
                ],
            );
            $process->wait(30);
            self::assertStringContainsString($expected, file_get_contents($dir->file('stdout')));
        }
    }
}
