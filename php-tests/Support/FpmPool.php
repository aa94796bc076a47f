<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A php-fpm of the test's own, with a fixed number of workers. */
final class FpmPool implements Stoppable
{
    private readonly TempDir $dir;
    private readonly Process $process;

    /**
     * @param array<string, string> $ini directives for its php.ini
     * @param array<string, string> $directives of the pool
     * @param list<string> $extensions more to load than this one
     */
    private function __construct(int $workers, array $ini, array $directives, array $extensions)
    {
        $this->dir = TempDir::make();
        $lines = [
            'extension = ' . Extension::path(),
            ...array_map(static fn (string $name): string => "extension = {$name}", $extensions),
            // Compiled scripts are cached, as on a real server, however new.
            'zend_extension = opcache',
            'opcache.file_update_protection = 0',
            'opcache.revalidate_freq = 0',
        ];
        foreach ($ini as $name => $value) {
            $lines[] = "{$name} = \"{$value}\"";
        }
        $phpIni = $this->dir->write('php.ini', implode("\n", $lines));
        $more = '';
        foreach ($directives as $name => $value) {
            $more .= "\n{$name} = {$value}";
        }
        $isRoot = posix_geteuid() === 0;
        $config = $this->dir->write('fpm.conf', <<<INI
            [global]
            error_log = {$this->log()}
            [www]
            listen = {$this->listen()}
            pm = static
            pm.max_children = {$workers}
            catch_workers_output = yes
            INI . $more . ($isRoot ? "\nuser = root\ngroup = root\n" : "\n"));
        $this->process = new Process(
            [self::binary(), '--nodaemonize', '-c', $phpIni, '-y', $config, ...($isRoot ? ['-R'] : [])],
            $this->dir->file('output'),
            $this->dir->file('output'),
            environment: ['PHP_INI_SCAN_DIR' => ''],
        );
    }

    /**
     * @param array<string, string> $ini directives for its php.ini
     * @param array<string, string> $directives of the pool
     * @param list<string> $extensions more to load than this one
     */
    public static function start(int $workers, array $ini = [], array $directives = [], array $extensions = []): self
    {
        $pool = Running::add(new self($workers, $ini, $directives, $extensions));
        Wait::until('php-fpm listens', function () use ($pool): bool {
            if ($pool->process->hasEnded()) {
                throw new \RuntimeException('php-fpm: ' . file_get_contents($pool->log()));
            }
            return @stream_socket_client("unix://{$pool->listen()}") !== false;
        });
        return $pool;
    }

    /** The path of its socket. */
    public function listen(): string
    {
        return $this->dir->file('fpm.sock');
    }

    /** The path of its error log. */
    public function log(): string
    {
        return $this->dir->file('fpm.log');
    }

    /** Puts a script where its workers find it, and says where. */
    public function script(string $name, string $code): string
    {
        return $this->dir->write($name, "<?php\n{$code}");
    }

    /**
     * Sends a request; the answer can be waited for.
     *
     * @param array<string, string|int> $query
     */
    public function send(string $script, array $query = []): FastCgiRequest
    {
        $path = $script[0] === '/' ? $script : dirname(__DIR__) . "/Fixtures/{$script}";
        return new FastCgiRequest($this->listen(), $path, $query);
    }

    /** @param array<string, string|int> $query */
    public function get(string $script, array $query = []): HttpResponse
    {
        return $this->send($script, $query)->response();
    }

    /**
     * Sends so many requests, a few at a time.
     *
     * @param array<string, string|int> $query
     * @return list<HttpResponse>
     */
    public function getMany(int $count, int $atOnce, string $script, array $query = []): array
    {
        $waiting = $responses = [];
        for ($sent = 0; $sent < $count; $sent++) {
            $waiting[] = $this->send($script, $query);
            if (count($waiting) >= $atOnce) {
                $responses[] = array_shift($waiting)->response();
            }
        }
        foreach ($waiting as $request) {
            $responses[] = $request->response();
        }
        return $responses;
    }

    public function stop(): void
    {
        $this->process->stop();
    }

    private static function binary(): string
    {
        return '/usr/sbin/php-fpm' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
    }
}
