<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** An nginx of the test's own, on a socket, in front of a pool. */
final class Nginx implements Stoppable
{
    private readonly TempDir $dir;
    private readonly Process $process;

    private function __construct(FpmPool $pool, string $script)
    {
        $this->dir = TempDir::make();
        $dir = $this->dir->path;
        $user = posix_geteuid() === 0 ? 'user root;' : '';
        $config = $this->dir->write('nginx.conf', <<<CONF
            {$user}
            daemon off;
            worker_processes 1;
            pid {$dir}/pid;
            error_log {$dir}/error.log;
            events {}
            http {
                access_log off;
                client_body_temp_path {$dir}/body;
                fastcgi_temp_path {$dir}/fastcgi;
                proxy_temp_path {$dir}/proxy;
                scgi_temp_path {$dir}/scgi;
                uwsgi_temp_path {$dir}/uwsgi;
                server {
                    listen unix:{$this->listen()};
                    location / {
                        fastcgi_pass unix:{$pool->listen()};
                        fastcgi_param SCRIPT_FILENAME {$script};
                        fastcgi_param REQUEST_METHOD \$request_method;
                        fastcgi_param QUERY_STRING \$query_string;
                    }
                }
            }
            CONF);
        $this->process = new Process(
            ['nginx', '-e', "{$dir}/error.log", '-p', $dir, '-c', $config],
            $this->dir->file('output'),
            $this->dir->file('output'),
        );
    }

    /** Every request goes to this script. */
    public static function before(FpmPool $pool, string $script): self
    {
        $nginx = Running::add(new self($pool, $script));
        Wait::until('nginx listens', function () use ($nginx): bool {
            if ($nginx->process->hasEnded()) {
                throw new \RuntimeException('nginx: ' . file_get_contents($nginx->dir->file('error.log')));
            }
            return @stream_socket_client("unix://{$nginx->listen()}") !== false;
        });
        return $nginx;
    }

    public function get(string $target): HttpResponse
    {
        $socket = stream_socket_client("unix://{$this->listen()}");
        fwrite($socket, "GET {$target} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        return HttpResponse::parse(stream_get_contents($socket));
    }

    public function stop(): void
    {
        $this->process->stop();
    }

    private function listen(): string
    {
        return $this->dir->file('nginx.sock');
    }
}
