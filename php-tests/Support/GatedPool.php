<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A php-fpm whose requests pass a gate, and a script behind it that counts its runs. */
final class GatedPool
{
    public readonly FpmPool $pool;
    public readonly TempDir $dir;
    private readonly string $script;

    /**
     * @param array<string, string> $ini
     * @param array<string, string> $directives of the pool
     */
    private function __construct(string $toml, int $workers, array $ini, ?string $code, array $directives)
    {
        $this->dir = TempDir::make();
        $config = $this->dir->write('sluice.toml', $toml);
        $this->pool = FpmPool::start($workers, $ini + [
            'sluice.config' => $config,
            'error_log' => $this->dir->file('log'),
            'display_errors' => '0',
        ], $directives);
        $this->script = $this->pool->script('index.php', $code ?? <<<PHP
            file_put_contents('{$this->dir->file('runs')}', '.', FILE_APPEND);
            echo 'through';
            PHP);
    }

    /**
     * @param array<string, string> $ini
     * @param array<string, string> $directives
     */
    public static function with(
        string $toml,
        int $workers = 1,
        array $ini = [],
        ?string $code = null,
        array $directives = [],
    ): self {
        return new self($toml, $workers, $ini, $code, $directives);
    }

    /** @param array<string, string|null> $params CGI variables */
    public function send(
        string $target,
        array $params = [],
        string $body = '',
        ?FastCgiConnection $connection = null,
    ): FastCgiRequest {
        return new FastCgiRequest($this->pool->listen(), $this->script, [], $params + [
            'REQUEST_URI' => $target,
            'QUERY_STRING' => explode('?', $target, 2)[1] ?? '',
            'SCRIPT_NAME' => '/index.php',
            'REMOTE_ADDR' => '203.0.113.7',
            'HTTP_HOST' => 'example.com',
        ], $body, $connection);
    }

    /** @param array<string, string|null> $params */
    public function get(
        string $target,
        array $params = [],
        string $body = '',
        ?FastCgiConnection $connection = null,
    ): HttpResponse {
        return $this->send($target, $params, $body, $connection)->response();
    }

    /** @param array<string, string|null> $params */
    public function status(string $target, array $params = []): int
    {
        return $this->get($target, $params)->status;
    }

    /** How often the script ran. */
    public function runs(): int
    {
        clearstatcache();
        return is_file($this->dir->file('runs')) ? filesize($this->dir->file('runs')) : 0;
    }

    /** What PHP logged. */
    public function log(): string
    {
        return is_file($this->dir->file('log')) ? file_get_contents($this->dir->file('log')) : '';
    }

    /** Writes the file anew. */
    public function change(string $toml): void
    {
        $this->dir->write('sluice.toml', $toml);
    }
}
