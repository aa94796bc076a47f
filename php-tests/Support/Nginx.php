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
        [$root, $entry] = [dirname($script), basename($script)];
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
                map \$http_x_test_address \$test_address {
                    default \$http_x_test_address;
                    ''     127.0.0.1;
                }
                server {
                    listen unix:{$this->listen()};
                    location / {
                        fastcgi_pass unix:{$pool->listen()};
                        fastcgi_param SCRIPT_FILENAME {$script};
                        fastcgi_param REQUEST_METHOD \$request_method;
                        fastcgi_param QUERY_STRING \$query_string;
                        fastcgi_param CONTENT_TYPE \$content_type;
                        fastcgi_param CONTENT_LENGTH \$content_length;
                        fastcgi_param SCRIPT_NAME /{$entry};
                        fastcgi_param REQUEST_URI \$request_uri;
                        fastcgi_param DOCUMENT_ROOT {$root};
                        fastcgi_param SERVER_PROTOCOL \$server_protocol;
                        fastcgi_param SERVER_NAME localhost;
                        fastcgi_param SERVER_PORT 80;
                        fastcgi_param REMOTE_ADDR \$test_address;
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
        return $this->request('GET', $target);
    }

    /**
     * @param array<string, string> $headers
     * @param string $ip the address that the client seems to have
     */
    public function request(
        string $method,
        string $target,
        array $headers = [],
        string $body = '',
        string $ip = '127.0.0.1',
    ): HttpResponse {
        $headers += ['Host' => 'localhost', 'X-Test-Address' => $ip];
        if ($body !== '') {
            $headers += ['Content-Length' => strlen($body), 'Content-Type' => 'application/x-www-form-urlencoded'];
        }
        $lines = array_map(static fn ($name, $value) => "{$name}: {$value}\r\n", array_keys($headers), $headers);
        $socket = stream_socket_client("unix://{$this->listen()}");
        fwrite($socket, "{$method} {$target} HTTP/1.0\r\n" . implode('', $lines) . "\r\n{$body}");
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
