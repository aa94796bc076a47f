<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** PHP's own web server: every request goes to one script, one after another. */
final class WebServer implements Stoppable
{
    private readonly TempDir $dir;
    private readonly Process $process;

    /**
     * @param array<string, string> $ini
     * @param array<string, string> $environment
     */
    private function __construct(
        string $script,
        public readonly int $port,
        array $ini,
        array $environment,
    ) {
        $this->dir = TempDir::make();
        $options = [];
        foreach ($ini as $name => $value) {
            array_push($options, '-d', "{$name}=\"{$value}\"");
        }
        $this->process = new Process(
            [
                PHP_BINARY, '-d', 'extension=' . Extension::path(), '-d', 'display_errors=stderr',
                ...$options, '-S', "127.0.0.1:{$port}", $script,
            ],
            $this->log(),
            $this->log(),
            dirname($script),
            $environment,
        );
    }

    /**
     * @param array<string, string> $ini
     * @param array<string, string> $environment
     */
    public static function start(string $script, array $ini = [], array $environment = []): self
    {
        $server = Running::add(new self($script, self::freePort(), $ini, $environment));
        Wait::until('the web server listens', function () use ($server): bool {
            if ($server->process->hasEnded()) {
                throw new \RuntimeException('php -S: ' . file_get_contents($server->log()));
            }
            return @stream_socket_client("tcp://127.0.0.1:{$server->port}") !== false;
        });
        return $server;
    }

    /** The address of a path on it. */
    public function url(string $path = '/'): string
    {
        return "http://127.0.0.1:{$this->port}{$path}";
    }

    /** The path of what it and its scripts wrote to stderr. */
    public function log(): string
    {
        return $this->dir->file('log');
    }

    /** @param array<string, string> $headers */
    public function get(string $target, array $headers = []): HttpResponse
    {
        return $this->send('GET', $target, $headers);
    }

    /** @param array<string, string> $headers */
    public function send(string $method, string $target, array $headers = [], string $body = ''): HttpResponse
    {
        $lines = '';
        foreach ($headers + ['Host' => 'localhost', 'Content-Length' => (string) strlen($body)] as $name => $value) {
            $lines .= "{$name}: {$value}\r\n";
        }
        $socket = stream_socket_client("tcp://127.0.0.1:{$this->port}", $code, $message, 10);
        stream_set_timeout($socket, 60);
        fwrite($socket, "{$method} {$target} HTTP/1.0\r\n{$lines}\r\n{$body}");
        return HttpResponse::parse(stream_get_contents($socket));
    }

    public function stop(): void
    {
        $this->process->stop();
    }

    private static function freePort(): int
    {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $name = stream_socket_get_name($listener, false);
        fclose($listener);
        return (int) substr(strrchr($name, ':'), 1);
    }
}
