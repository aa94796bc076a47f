<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A Redis of the test's own: without persistence, on a socket in its directory. */
final class RedisServer implements Stoppable
{
    private readonly TempDir $dir;
    private Process $process;
    private ?RedisClient $client = null;

    /** @param list<string> $options more of redis-server's command line */
    private function __construct(
        private readonly int $port,
        private readonly string $password,
        private readonly array $options,
    ) {
        $this->dir = TempDir::make();
    }

    /** @param list<string> $options */
    public static function start(string $password = '', array $options = []): self
    {
        return Running::add(new self(0, $password, $options))->launched();
    }

    /** The same on a free port of the loopback device too. */
    public static function startOnPort(string $password = ''): self
    {
        return Running::add(new self(self::freePort(), $password, []))->launched();
    }

    /** Where one could be started; it is not yet. */
    public static function absent(): self
    {
        return Running::add(new self(0, '', []));
    }

    public function socket(): string
    {
        return $this->dir->file('redis.sock');
    }

    public function port(): int
    {
        return $this->port;
    }

    /**
     * Where it is, with more time than any call needs: a busy machine is no
     * failure. A test of time itself gives its own.
     *
     * @param string $options such as `db=1&timeout=50ms`
     */
    public function dsn(string $options = ''): string
    {
        return "unix://{$this->socket()}?timeout=10s&{$options}";
    }

    /** The same over TCP. */
    public function tcpDsn(string $login = '', string $path = '', string $host = '127.0.0.1'): string
    {
        return "redis://{$login}{$host}:{$this->port}{$path}?timeout=10s";
    }

    /** Where it is, as the extension tells it. */
    public function shownDsn(int $database = 0): string
    {
        return "unix://{$this->socket()}?db={$database}";
    }

    public function command(string|int ...$words): mixed
    {
        $this->client ??= $this->connected();
        return $this->client->command(...$words);
    }

    /** Counts from zero again; our own connection is not counted. */
    public function resetStatistics(): void
    {
        $this->command('CONFIG', 'RESETSTAT');
    }

    /** One number out of INFO. */
    public function statistic(string $section, string $name): int
    {
        preg_match("/^{$name}:(\d+)/m", $this->command('INFO', $section), $found)
            || throw new \RuntimeException("INFO {$section} has no {$name}");
        return (int) $found[1];
    }

    /** How often a command was called; a subcommand is written `script|load`. */
    public function callsOf(string $command): int
    {
        $name = preg_quote("cmdstat_{$command}", '/');
        $stats = $this->command('INFO', 'commandstats');
        return preg_match("/^{$name}:calls=(\d+)/m", $stats, $found) ? (int) $found[1] : 0;
    }

    /** @return list<string> */
    public function keys(): array
    {
        $keys = $this->command('KEYS', '*');
        sort($keys);
        return $keys;
    }

    /** Lets it stand still without closing anything. */
    public function pause(): void
    {
        $this->process->signal(SIGSTOP);
    }

    public function resume(): void
    {
        $this->process->signal(SIGCONT);
    }

    /** Starts one that knows nothing, here where one was or will be. */
    public function launch(): void
    {
        @unlink($this->socket());
        $this->client = null;
        $this->process = new Process(
            [
                'redis-server', '--port', (string) $this->port, '--bind', '127.0.0.1',
                '--unixsocket', $this->socket(), '--save', '', '--appendonly', 'no',
                ...($this->password === '' ? [] : ['--requirepass', $this->password]),
                ...$this->options,
            ],
            $this->dir->file('log'),
            $this->dir->file('log'),
            $this->dir->path,
        );
        Wait::until('redis-server answers', function (): bool {
            if ($this->process->hasEnded()) {
                throw new \RuntimeException('redis-server: ' . file_get_contents($this->dir->file('log')));
            }
            try {
                return $this->connected()->command('PING') === 'PONG';
            } catch (\RuntimeException) {
                return false;
            }
        });
    }

    public function stop(): void
    {
        if (isset($this->process)) {
            $this->process->stop();
        }
    }

    private function launched(): self
    {
        $this->launch();
        return $this;
    }

    private function connected(): RedisClient
    {
        $client = new RedisClient($this->socket());
        if ($this->password !== '') {
            $client->command('AUTH', $this->password);
        }
        return $client;
    }

    public static function freePort(): int
    {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $name = stream_socket_get_name($listener, false);
        fclose($listener);
        return (int) substr(strrchr($name, ':'), 1);
    }
}
