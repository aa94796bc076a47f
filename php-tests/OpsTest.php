<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\Extension;
use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\Process;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\Wait;

/** The files in `ops/`, as an operator copies them: read by their servers, and under load. */
final class OpsTest extends TestCase
{
    private const OPS = __DIR__ . '/../ops';
    private const FPM = '/usr/sbin/php-fpm' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;

    private TempDir $dir;

    protected function setUp(): void
    {
        parent::setUp();
        $this->dir = TempDir::make();
        mkdir($this->dir->file('public'));
        $this->dir->write('public/index.php', <<<'PHP'
            <?php
            if (strtok($_SERVER['REQUEST_URI'], '?') === '/report') {
                while (!file_exists(__DIR__ . '/done')) {
                    usleep(5_000);
                }
            }
            echo 'page';
            PHP);
        // The gate reads the file as it is; its own names and numbers are what is tested.
        $this->dir->write('sluice.toml', self::ops('sluice.toml'));
    }

    public function testNginxTakesItsFile(): void
    {
        $this->assertSucceeds(['nginx', '-t', '-c', $this->nginxConfig(), '-e', $this->dir->file('nginx.log')]);
    }

    public function testPhpFpmTakesItsFile(): void
    {
        $root = posix_geteuid() === 0 ? ['-R'] : [];
        $this->assertSucceeds([self::FPM, '-t', '-c', $this->phpIni(), '-y', $this->fpmConfig(), ...$root]);
    }

    public function testTheNumbersFitTogether(): void
    {
        $fpm = parse_ini_string(self::ops('php-fpm.conf'), false, INI_SCANNER_RAW);
        $executes = (int) $fpm['php_admin_value']['max_execution_time'];
        $terminates = (int) rtrim($fpm['request_terminate_timeout'], 's');
        self::assertSame(1.5 * $executes, (float) $terminates);

        self::assertSame(1, preg_match('/fastcgi_read_timeout (\d+)s;/', self::ops('nginx.conf'), $found));
        self::assertGreaterThan($terminates, (int) $found[1], 'nginx waits longer than php-fpm');

        $bulkheads = preg_match_all('/"(\d+) concurrent"/', self::ops('sluice.toml'), $found);
        self::assertSame(2, $bulkheads);
        self::assertLessThanOrEqual((int) $fpm['pm.max_children'] / 2, array_sum($found[1]));
    }

    public function testOneClientThatFloodsIsTold429AndAnotherIsServed(): void
    {
        $this->start();
        $flood = array_map(
            // Each time from another address of one /64.
            fn (int $number): HttpResponse => $this->get('/', sprintf('2001:db8:1:2::%x', $number)),
            range(1, 200),
        );
        $statuses = array_count_values(array_map(static fn (HttpResponse $response): int => $response->status, $flood));
        // The burst and its first, and what came back while the test sent the rest.
        self::assertGreaterThanOrEqual(101, $statuses[200]);
        self::assertGreaterThan(0, $statuses[429] ?? 0);
        self::assertSame([200, 429], array_keys($statuses));

        $refused = current(array_filter($flood, static fn (HttpResponse $response): bool => $response->status === 429));
        self::assertSame('1', $refused->headers['retry-after']);
        self::assertSame('application/problem+json', $refused->headers['content-type']);
        self::assertSame(429, $refused->json()['status']);

        self::assertSame('page', $this->get('/', '2001:db8:1:3::1')->body);
        self::assertSame('page', $this->get('/', '192.0.2.1')->body);
    }

    public function testTheReportTakesEightWorkersAndNoMore(): void
    {
        $this->start();
        $held = array_map(fn (int $number) => $this->send('/report', "192.0.2.{$number}"), range(1, 8));
        // Permits show themselves only by what is refused: ask until eight are taken.
        $refused = null;
        Wait::until('eight reports are made', function () use (&$refused, &$held): bool {
            $more = $this->send('/report', '192.0.2.99');
            $ready = [$more];
            $none = null;
            if (stream_select($ready, $none, $none, 0, 100_000) === 1) {
                $refused = HttpResponse::parse(stream_get_contents($more));
                return true;
            }
            $held[] = $more;
            return false;
        });
        self::assertSame(429, $refused->status);
        self::assertSame('page', $this->get('/', '192.0.2.100')->body, 'the rest of the site goes on');

        $this->dir->write('public/done', '');
        $statuses = array_map(static fn ($socket): int => HttpResponse::parse(stream_get_contents($socket))->status, $held);
        // One that was refused a moment too late to be seen above is among them.
        self::assertSame(8, array_count_values($statuses)[200], 'eight, no more and no less');
        self::assertSame([], array_diff($statuses, [200, 429]));
        self::assertSame('page', $this->get('/report', '192.0.2.101')->body, 'freed');
    }

    private function start(): void
    {
        $root = posix_geteuid() === 0 ? ['-R'] : [];
        $output = $this->dir->file('output');
        $environment = ['PHP_INI_SCAN_DIR' => ''];
        $servers = [
            'app.sock' => new Process(
                [self::FPM, '--nodaemonize', '-c', $this->phpIni(), '-y', $this->fpmConfig(), ...$root],
                $output,
                $output,
                environment: $environment,
            ),
            'nginx.sock' => new Process(
                ['nginx', '-c', $this->nginxConfig(), '-e', $this->dir->file('nginx.log')],
                $output,
                $output,
            ),
        ];
        foreach ($servers as $socket => $server) {
            Wait::until("{$socket} listens", function () use ($server, $socket, $output): bool {
                if ($server->hasEnded()) {
                    throw new \RuntimeException((string) file_get_contents($output));
                }
                return @stream_socket_client("unix://{$this->dir->file($socket)}") !== false;
            });
        }
    }

    /** @return resource */
    private function send(string $target, string $client)
    {
        $socket = stream_socket_client("unix://{$this->dir->file('nginx.sock')}");
        fwrite($socket, "GET {$target} HTTP/1.0\r\nHost: localhost\r\nX-Forwarded-For: {$client}\r\n\r\n");
        return $socket;
    }

    private function get(string $target, string $client): HttpResponse
    {
        return HttpResponse::parse(stream_get_contents($this->send($target, $client)));
    }

    /** The file as it is, but for the paths of this machine; the clients come through a proxy. */
    private function nginxConfig(): string
    {
        $dir = $this->dir->path;
        $this->dir->write('site.conf', self::replaced('nginx.conf', [
            '#set_real_ip_from 10.0.0.0/8;' => 'set_real_ip_from unix:;',
            '#real_ip_header' => 'real_ip_header',
            '#real_ip_recursive' => 'real_ip_recursive',
            'listen 80;' => "listen unix:{$dir}/nginx.sock;",
            '/var/www/app/public' => "{$dir}/public",
            '/run/php/app.sock' => "{$dir}/app.sock",
        ]));
        $user = posix_geteuid() === 0 ? 'user root;' : '';
        return $this->dir->write('nginx.conf', <<<CONF
            {$user}
            daemon off;
            pid {$dir}/nginx.pid;
            error_log {$dir}/nginx.log;
            events {}
            http {
                access_log off;
                client_body_temp_path {$dir}/body;
                fastcgi_temp_path {$dir}/fastcgi;
                proxy_temp_path {$dir}/proxy;
                scgi_temp_path {$dir}/scgi;
                uwsgi_temp_path {$dir}/uwsgi;
                include {$dir}/site.conf;
            }
            CONF);
    }

    private function fpmConfig(): string
    {
        $dir = $this->dir->path;
        $user = posix_geteuid() === 0 ? 'root' : posix_getpwuid(posix_geteuid())['name'];
        $pool = self::replaced('php-fpm.conf', [
            'user = www-data' => "user = {$user}",
            'group = www-data' => 'group = ' . posix_getgrgid(posix_getegid())['name'],
            'listen.owner = www-data' => "listen.owner = {$user}",
            'listen.group = www-data' => 'listen.group = ' . posix_getgrgid(posix_getegid())['name'],
            '/run/php/app.sock' => "{$dir}/app.sock",
            '/var/log/php-fpm-app.slow.log' => "{$dir}/slow.log",
        ]);
        return $this->dir->write('fpm.conf', "[global]\nerror_log = {$dir}/fpm.log\n{$pool}");
    }

    private function phpIni(): string
    {
        return $this->dir->write('php.ini', self::replaced('sluice.ini', [
            'extension = sluice' => 'extension = ' . Extension::path(),
            '/etc/php/sluice.toml' => $this->dir->file('sluice.toml'),
            '/dev/shm/sluice' => $this->dir->file('memory'),
        ]));
    }

    /**
     * A file of `ops/` with some of its words replaced; each must be there.
     *
     * @param array<string, string> $words
     */
    private static function replaced(string $file, array $words): string
    {
        $text = self::ops($file);
        foreach (array_keys($words) as $word) {
            self::assertStringContainsString($word, $text, $file);
        }
        return strtr($text, $words);
    }

    private static function ops(string $file): string
    {
        return (string) file_get_contents(self::OPS . "/{$file}");
    }

    /** @param list<string> $command */
    private function assertSucceeds(array $command): void
    {
        $output = $this->dir->file('output');
        $process = new Process($command, $output, $output, environment: ['PHP_INI_SCAN_DIR' => '']);
        self::assertSame(0, $process->wait(10), (string) file_get_contents($output));
    }
}
