<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A web server of the test's own that runs PHP itself: Apache with mod_php, or `php -S`. */
final class HttpServer implements Stoppable
{
    private function __construct(
        private readonly Process $process,
        private readonly int $port,
        private readonly string $log,
        private readonly string $errorLog,
    ) {
    }

    /**
     * Apache with mod_php; every path that is no file leads to `index.php`.
     *
     * @param array<string, string> $ini
     */
    public static function apache(string $root, array $ini): self
    {
        $dir = TempDir::make();
        $port = self::freePort();
        self::writeIni($dir, $ini);
        $modules = '/usr/lib/apache2/modules';
        // Apache does not serve as root.
        $user = posix_geteuid() === 0 ? "User www-data\nGroup www-data" : '';
        $config = $dir->write('apache.conf', <<<CONF
            ServerRoot {$dir->path}
            ServerName localhost
            DefaultRuntimeDir {$dir->path}
            PidFile {$dir->file('pid')}
            Listen 127.0.0.1:{$port}
            ErrorLog {$dir->file('error.log')}
            LoadModule mpm_prefork_module {$modules}/mod_mpm_prefork.so
            LoadModule authz_core_module {$modules}/mod_authz_core.so
            LoadModule mime_module {$modules}/mod_mime.so
            LoadModule dir_module {$modules}/mod_dir.so
            LoadModule php_module {$modules}/libphp8.2.so
            {$user}
            TypesConfig /dev/null
            StartServers 2
            MinSpareServers 1
            PHPIniDir {$dir->path}
            AddType application/x-httpd-php .php
            DocumentRoot {$root}
            DirectoryIndex index.php
            FallbackResource /index.php
            CONF);
        // A group of its own, for when it ends it signals all of its group.
        $command = ['setsid', 'apache2', '-DFOREGROUND', '-f', $config];
        return self::start($command, $port, $dir);
    }

    /**
     * PHP's own server; every path that is no file leads to `index.php`.
     *
     * @param array<string, string> $ini
     */
    public static function builtin(string $root, array $ini): self
    {
        $dir = TempDir::make();
        $port = self::freePort();
        $phpIni = self::writeIni($dir, $ini);
        return self::start([PHP_BINARY, '-c', $phpIni, '-S', "127.0.0.1:{$port}", '-t', $root], $port, $dir);
    }

    /** @param array<string, string> $headers */
    public function get(
        string $target,
        array $headers = [],
        string $method = 'GET',
        string $body = '',
    ): HttpResponse {
        $socket = stream_socket_client("tcp://127.0.0.1:{$this->port}", timeout: 10);
        $head = '';
        foreach ($headers + ($body === '' ? [] : ['Content-Length' => strlen($body)]) as $name => $value) {
            $head .= "{$name}: {$value}\r\n";
        }
        fwrite($socket, "{$method} {$target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{$head}\r\n{$body}");
        return HttpResponse::parse(stream_get_contents($socket));
    }

    /** Apache reads its configuration anew and starts new workers. */
    public function reload(): void
    {
        $this->process->signal(SIGUSR1);
    }

    /** What the server said. */
    public function log(): string
    {
        return file_get_contents($this->log) . (is_file($this->errorLog) ? file_get_contents($this->errorLog) : '');
    }

    public function stop(): void
    {
        $this->process->stop();
    }

    /** @param list<string> $command */
    private static function start(array $command, int $port, TempDir $dir): self
    {
        $log = $dir->file('output');
        $process = new Process($command, $log, $log, environment: ['PHP_INI_SCAN_DIR' => '']);
        $server = Running::add(new self($process, $port, $log, $dir->file('error.log')));
        Wait::until("{$command[0]} listens", function () use ($server): bool {
            if ($server->process->hasEnded()) {
                throw new \RuntimeException('the server ended: ' . file_get_contents($server->log));
            }
            return @stream_socket_client("tcp://127.0.0.1:{$server->port}") !== false;
        });
        return $server;
    }

    /** @param array<string, string> $ini */
    private static function writeIni(TempDir $dir, array $ini): string
    {
        $lines = ['extension = ' . Extension::path()];
        foreach ($ini as $name => $value) {
            $lines[] = "{$name} = \"{$value}\"";
        }
        return $dir->write('php.ini', implode("\n", $lines));
    }

    private static function freePort(): int
    {
        $socket = stream_socket_server('tcp://127.0.0.1:0');
        $port = (int) substr(strrchr(stream_socket_get_name($socket, false), ':'), 1);
        fclose($socket);
        return $port;
    }
}
