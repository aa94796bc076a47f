<?php

declare(strict_types=1);

// An nginx before a php-fpm, on a free port of the loopback, in a folder of
// their own that is gone at the end.

final class WebServer
{
    private const NGINX = <<<'CONF'
        worker_processes 1;
        daemon off;
        pid {dir}/nginx.pid;
        error_log {dir}/nginx.log;
        worker_rlimit_nofile 4096;
        events { worker_connections 2048; }
        http {
            access_log off;
            client_body_temp_path {dir}/body;
            fastcgi_temp_path {dir}/fastcgi;
            proxy_temp_path {dir}/proxy;
            scgi_temp_path {dir}/scgi;
            uwsgi_temp_path {dir}/uwsgi;
            keepalive_requests 1000000;
            server {
                listen 127.0.0.1:{port} backlog=2048;
                fastcgi_read_timeout 10s;
                {locations}
            }
        }
        CONF;

    private const FPM = <<<'CONF'
        [global]
        error_log = {dir}/fpm.log
        log_level = warning
        daemonize = no
        [www]
        {user}
        listen = {dir}/fpm.sock
        listen.mode = 0666
        listen.backlog = 2048
        pm = static
        pm.max_children = {workers}
        clear_env = no
        CONF;

    public readonly string $url;
    public readonly string $dir;
    /** @var list<resource> */
    private array $processes = [];

    /**
     * @param array<string, string> $scripts which takes the requests of a path, by its beginning
     * @param array<string, string|list<string>> $ini directives
     * @param array<string, string> $environment for the scripts
     */
    public function __construct(array $scripts, int $workers, array $ini, array $environment = [])
    {
        $this->dir = sys_get_temp_dir() . '/sluice-web-' . getmypid() . '-' . bin2hex(random_bytes(3));
        mkdir($this->dir);
        chmod($this->dir, 0755);
        register_shutdown_function($this->stop(...));
        $port = self::freePort();
        $this->url = "http://127.0.0.1:$port";
        $locations = '';
        foreach ($scripts as $path => $script) {
            $parameter = "include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $script;";
            $locations .= "location $path { $parameter fastcgi_pass unix:{$this->dir}/fpm.sock; }\n";
        }
        $values = [
            '{locations}' => $locations,
            '{dir}' => $this->dir,
            '{port}' => (string) $port,
            '{workers}' => (string) $workers,
            '{user}' => posix_geteuid() === 0 ? "user = root\ngroup = root" : '',
        ];
        file_put_contents("{$this->dir}/nginx.conf", (posix_geteuid() === 0 ? "user root;\n" : '') . strtr(self::NGINX, $values));
        file_put_contents("{$this->dir}/fpm.conf", strtr(self::FPM, $values));
        $lines = ['zend_extension = opcache', 'opcache.validate_timestamps = 0'];
        foreach ($ini as $name => $several) {
            foreach ((array) $several as $value) {
                $lines[] = "$name = \"$value\"";
            }
        }
        file_put_contents("{$this->dir}/php.ini", implode("\n", $lines) . "\n");
        $fpm = '/usr/sbin/php-fpm' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
        $root = posix_geteuid() === 0 ? ['-R'] : [];
        $this->start([$fpm, '-c', "{$this->dir}/php.ini", '-y', "{$this->dir}/fpm.conf", ...$root], $environment + ['PHP_INI_SCAN_DIR' => '']);
        $this->waitFor(fn (): bool => file_exists("{$this->dir}/fpm.sock"), 'php-fpm');
        $this->start(['nginx', '-c', "{$this->dir}/nginx.conf", '-e', "{$this->dir}/nginx.log", '-p', $this->dir], []);
        $this->waitFor(fn (): bool => @fsockopen('127.0.0.1', $port, $code, $message, 1) !== false, 'nginx');
    }

    /**
     * Asks for a path on so many connections, each anew as soon as it was answered.
     *
     * @return array{rate: float, statuses: array<int, int>} requests a second, answers by status
     */
    public function load(string $path, int $connections, int $seconds, string ...$headers): array
    {
        return self::endLoad($this->startLoad($path, $connections, $seconds, ...$headers));
    }

    /** The same beside others; for {@see endLoad()}. */
    public function startLoad(string $path, int $connections, int $seconds, string ...$headers): array
    {
        $options = [];
        foreach ($headers as $header) {
            array_push($options, '-H', $header);
        }
        $command = ['wrk', '-t1', "-c$connections", "-d{$seconds}s", '-s', __DIR__ . '/statuses.lua', ...$options, $this->url . $path];
        return [proc_open($command, [1 => ['pipe', 'w']], $pipes), $pipes[1]];
    }

    /** @return array{rate: float, statuses: array<int, int>} */
    public static function endLoad(array $load): array
    {
        [$process, $output] = $load;
        $report = stream_get_contents($output);
        proc_close($process);
        preg_match_all('/^status (\d+) (\d+)$/m', $report, $found);
        preg_match('/^rate ([\d.]+)$/m', $report, $rate);
        return ['rate' => (float) ($rate[1] ?? 0), 'statuses' => array_combine($found[1], array_map('intval', $found[2]))];
    }

    public function stop(): void
    {
        foreach (array_reverse($this->processes) as $process) {
            proc_terminate($process, SIGTERM);
            proc_close($process);
        }
        $this->processes = [];
        if (is_dir($this->dir)) {
            exec('rm -rf ' . escapeshellarg($this->dir));
        }
    }

    private function start(array $command, array $environment): void
    {
        $log = ['file', "{$this->dir}/output", 'a'];
        $this->processes[] = proc_open($command, [['file', '/dev/null', 'r'], $log, $log], $pipes, null, $environment + getenv());
    }

    private function waitFor(callable $there, string $what): void
    {
        for ($tries = 0; !$there(); $tries++) {
            if ($tries === 250) {
                fwrite(STDERR, "$what did not start:\n" . file_get_contents("{$this->dir}/output"));
                exit(1);
            }
            usleep(20_000);
        }
    }

    private static function freePort(): int
    {
        $socket = stream_socket_server('tcp://127.0.0.1:0');
        return (int) substr(strrchr(stream_socket_get_name($socket, false), ':'), 1);
    }
}
