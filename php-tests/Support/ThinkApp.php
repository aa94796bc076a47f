<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/**
 * A copy of the ThinkPHP application that THINKPHP_DIR names, with this library
 * as an installed package and the files of `Apps/think` on top.
 */
final class ThinkApp
{
    /** What ThinkPHP needs that a bare PHP has not. */
    private const EXTENSIONS = [
        'ctype', 'fileinfo', 'iconv', 'igbinary', 'mbstring', 'pdo', 'phar', 'posix', 'redis', 'tokenizer',
    ];

    private const WHAT = 'the tests on ThinkPHP 6 and 8 (a checkout of an application with its vendor directory,'
        . ' think-throttle and think-queue in it)';

    private ?Nginx $nginx = null;

    private function __construct(private readonly TempDir $dir)
    {
    }

    /** Whether THINKPHP_DIR names one; if not, that is said on stderr. */
    public static function isThere(): bool
    {
        return Checkout::of('THINKPHP_DIR', self::WHAT) !== null;
    }

    /**
     * @param array<string, string> $files contents of files to add or replace, by path
     * @param bool $withThrottle whether think-throttle is installed
     */
    public static function make(array $files = [], bool $withThrottle = true): self
    {
        $checkout = Checkout::of('THINKPHP_DIR', self::WHAT) ?? throw new \LogicException('ask isThere() first');
        $app = new self(TempDir::make());
        self::copy($checkout, $app->dir->path);
        self::copy(dirname(__DIR__) . '/Apps/think', $app->dir->path);
        foreach ($files as $path => $contents) {
            $app->write($path, $contents);
        }
        $withThrottle || $app->removeThrottle();
        $app->install();
        return $app;
    }

    /** Where a file of the application is. */
    public function path(string $path = ''): string
    {
        return rtrim($this->dir->file($path), '/');
    }

    /** Writes a file of the application. */
    public function write(string $path, string $contents): void
    {
        is_dir(dirname($this->path($path))) || mkdir(dirname($this->path($path)), 0o755, true);
        $before = is_file($this->path($path)) ? filemtime($this->path($path)) : null;
        $this->dir->write($path, $contents);
        // Opcache looks at whole seconds.
        $before === null || touch($this->path($path), max(time(), $before + 1));
    }

    /** Whether its think-throttle has attributes, as from 3.0 on. */
    public function hasAttributes(): bool
    {
        return is_file($this->path('vendor/topthink/think-throttle/src/annotation/RateLimit.php'));
    }

    /** Waits until it has logged this: it does so after its answer was sent. */
    public function waitForLog(string $text): void
    {
        Wait::until("the log says: {$text}\nIt says: {$this->log()}", fn (): bool => str_contains($this->log(), $text));
    }

    /** What it has logged. */
    public function log(): string
    {
        return implode('', array_map('file_get_contents', glob($this->path('runtime/log/*/*.log')) ?: []));
    }

    /**
     * Serves it by php-fpm behind nginx.
     *
     * @param array<string, string> $ini directives for php-fpm's php.ini
     */
    public function serve(array $ini = [], int $workers = 2): self
    {
        $pool = FpmPool::start($workers, $ini, extensions: self::EXTENSIONS);
        $this->nginx = Nginx::before($pool, $this->path('public/index.php'));
        return $this;
    }

    /**
     * Sends a request to the served application.
     *
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
        if ($this->nginx === null) {
            throw new \LogicException('the application is not served; call serve() first');
        }
        // What the rewriting of ThinkPHP's own nginx.conf makes of it.
        [$path, $query] = explode('?', $target, 2) + [1 => ''];
        $target = '/index.php?s=' . $path . ($query === '' ? '' : "&{$query}");
        return $this->nginx->request($method, $target, $headers, $body, $ip);
    }

    /** @param array<string, string> $headers */
    public function get(string $target, array $headers = [], string $ip = '127.0.0.1'): HttpResponse
    {
        return $this->request('GET', $target, $headers, '', $ip);
    }

    /** Runs `php think` with these arguments. */
    public function think(string ...$arguments): PhpResult
    {
        return $this->thinkWith([], ...$arguments);
    }

    /** @param array<string, string|int|float> $ini */
    public function thinkWith(array $ini, string ...$arguments): PhpResult
    {
        return $this->php($ini)->run($this->path('think'), ...$arguments);
    }

    /**
     * Runs PHP code after `vendor/autoload.php`.
     *
     * @param array<string, string|int|float> $ini
     */
    public function code(string $code, array $ini = []): PhpResult
    {
        $load = 'require ' . var_export($this->path('vendor/autoload.php'), true) . ";\n";
        return $this->php($ini)->code($load . $code);
    }

    /** The same without the extension, as on a laptop. */
    public function codeWithoutTheExtension(string $code): PhpResult
    {
        $load = 'require ' . var_export($this->path('vendor/autoload.php'), true) . ";\n";
        return PhpProcess::withoutTheExtension()->loading(...self::EXTENSIONS)->code($load . $code);
    }

    /** @param array<string, string|int|float> $ini */
    private function php(array $ini): PhpProcess
    {
        return PhpProcess::with($ini)->loading(...self::EXTENSIONS);
    }

    /** Does what `composer require` does: autoloading, and the discovery of services and configuration. */
    private function install(): void
    {
        $library = dirname(__DIR__, 2) . '/php';
        mkdir($this->path('vendor/sluice'));
        symlink($library, $this->path('vendor/sluice/adapters'));
        rename($this->path('vendor/autoload.php'), $this->path('vendor/autoload_composer.php'));
        $this->write('vendor/autoload.php', <<<'PHP'
            <?php
            $loader = require __DIR__ . '/autoload_composer.php';
            $loader->addPsr4('Sluice\\', __DIR__ . '/sluice/adapters/src');
            require_once __DIR__ . '/sluice/adapters/src/Think/aliases.php';
            return $loader;
            PHP);
        $installed = json_decode((string) file_get_contents($this->path('vendor/composer/installed.json')), true);
        $installed['packages'][] = json_decode((string) file_get_contents("{$library}/composer.json"), true);
        $this->write('vendor/composer/installed.json', (string) json_encode($installed));
        foreach (['service:discover', 'vendor:publish'] as $command) {
            $result = $this->think($command);
            if ($result->exitCode !== 0 || !str_contains($result->stdout, 'Succeed')) {
                throw new \RuntimeException("php think {$command}: {$result->stdout}{$result->stderr}");
            }
        }
    }

    private function removeThrottle(): void
    {
        rename($this->path('vendor/topthink/think-throttle'), $this->path('removed'));
    }

    private static function copy(string $from, string $to): void
    {
        $process = new Process(['cp', '-a', "{$from}/.", $to], '/dev/null', '/dev/null');
        if ($process->wait(60) !== 0) {
            throw new \RuntimeException("cannot copy {$from}");
        }
    }
}
