<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A directory of the test's own. Its path is short enough for a socket. */
final class TempDir implements Stoppable
{
    public readonly string $path;

    private function __construct()
    {
        $this->path = sys_get_temp_dir() . '/sluice-' . bin2hex(random_bytes(6));
        mkdir($this->path, 0o755);
    }

    public static function make(): self
    {
        return Running::add(new self());
    }

    public function file(string $name): string
    {
        return "{$this->path}/{$name}";
    }

    public function write(string $name, string $contents): string
    {
        file_put_contents($this->file($name), $contents);
        return $this->file($name);
    }

    public function stop(): void
    {
        self::remove($this->path);
    }

    private static function remove(string $path): void
    {
        if (is_dir($path) && !is_link($path)) {
            foreach (array_diff(scandir($path), ['.', '..']) as $name) {
                self::remove("{$path}/{$name}");
            }
            rmdir($path);
        } elseif (file_exists($path) || is_link($path)) {
            unlink($path);
        }
    }
}
