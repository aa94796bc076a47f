<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/**
 * The application in `Apps/laravel`, in a directory of its own, with the Composer
 * library as an installed package.
 *
 * Runs on the Laravel of Debian's packages or, where LARAVEL_DIR names an
 * application with a `vendor` directory, on that one's.
 */
final class LaravelApp
{
    private const DEBIAN = '/usr/share/php/Illuminate/autoload.php';

    /** What Laravel needs that a bare PHP has not. */
    private const EXTENSIONS = [
        'ctype', 'dom', 'fileinfo', 'iconv', 'igbinary', 'intl', 'mbstring', 'pdo', 'phar', 'posix', 'redis',
        'tokenizer', 'xml', 'xmlwriter',
    ];

    private ?Nginx $nginx = null;

    private function __construct(private readonly TempDir $dir)
    {
    }

    /**
     * @param array<string, string|int|bool> $env for its `.env`
     * @param array<string, string> $files contents of files to add or replace, by path
     */
    public static function make(array $env = [], array $files = []): self
    {
        $app = new self(TempDir::make());
        self::copy(dirname(__DIR__) . '/Apps/laravel', $app->dir->path);
        $storage = ['app', 'logs', 'framework/cache/data', 'framework/sessions', 'framework/views'];
        foreach (['bootstrap/cache', ...array_map(static fn ($name) => "storage/{$name}", $storage)] as $directory) {
            mkdir("{$app->dir->path}/{$directory}", 0o755, true);
        }
        $env += ['APP_KEY' => 'base64:' . base64_encode(str_repeat('k', 32))];
        $app->write('.env', implode('', array_map(
            static fn (string $name, string|int|bool $value): string =>
                $name . '="' . addcslashes(is_bool($value) ? var_export($value, true) : (string) $value, '"\\$') . "\"\n",
            array_keys($env),
            $env,
        )));
        $app->write('vendor/autoload.php', self::autoload());
        $package = json_decode((string) file_get_contents(self::library() . '/composer.json'), true);
        $app->write('vendor/composer/installed.json', json_encode(['packages' => [$package]]));
        foreach ($files as $path => $contents) {
            $app->write($path, $contents);
        }
        return $app;
    }

    /** The version that the applications run on, such as `8.83.26`. */
    public static function version(): string
    {
        static $version;
        $print = 'require ' . var_export(self::loader(), true) . '; echo Illuminate\Foundation\Application::VERSION;';
        return $version ??= PhpProcess::with()->loading(...self::EXTENSIONS)->code($print)->stdout;
    }

    /** Where a file of the application is. */
    public function path(string $path = ''): string
    {
        return rtrim($this->dir->file($path), '/');
    }

    /** Writes a file of the application. */
    public function write(string $path, string $contents): void
    {
        $directory = dirname($this->path($path));
        if (!is_dir($directory)) {
            mkdir($directory, 0o755, true);
        }
        $this->dir->write($path, $contents);
    }

    /** What it has logged. */
    public function log(): string
    {
        return (string) @file_get_contents($this->path('storage/logs/laravel.log'));
    }

    /**
     * Serves it by php-fpm behind nginx.
     *
     * @param array<string, string> $ini directives for php-fpm's php.ini
     * @param array<string, string> $directives of the pool
     */
    public function serve(array $ini = [], int $workers = 2, array $directives = []): self
    {
        $pool = FpmPool::start($workers, $ini, $directives, self::EXTENSIONS);
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
        return $this->nginx->request($method, $target, $headers, $body, $ip);
    }

    /**
     * @param array<string, string> $headers
     * @param string $ip the address that the client seems to have
     */
    public function get(string $target, array $headers = [], string $ip = '127.0.0.1'): HttpResponse
    {
        return $this->request('GET', $target, $headers, '', $ip);
    }

    /** Runs `php artisan` with these arguments. */
    public function artisan(string ...$arguments): PhpResult
    {
        return $this->artisanWith([], ...$arguments);
    }

    /**
     * Runs `php artisan` under these directives.
     *
     * @param array<string, string|int|float> $ini
     */
    public function artisanWith(array $ini, string ...$arguments): PhpResult
    {
        return $this->php($ini)->run($this->path('artisan'), ...$arguments);
    }

    /** Starts `php artisan` and does not wait for it. */
    public function artisanInBackground(string ...$arguments): Process
    {
        return $this->php()->start($this->path('artisan'), ...$arguments);
    }

    /** Runs the application's own tests. */
    public function phpunit(): PhpResult
    {
        return PhpProcess::with()->loading(...self::EXTENSIONS)
            ->run('/usr/bin/phpunit', '-c', $this->path('phpunit.xml'));
    }

    /**
     * Runs PHP code in the booted application, which is `$app` there.
     *
     * @param array<string, string|int|float> $ini
     */
    public function code(string $code, array $ini = []): PhpResult
    {
        return $this->php($ini)->code($this->booted($code));
    }

    /** The same in a PHP that has never heard of Sluice. */
    public function codeWithoutTheExtension(string $code): PhpResult
    {
        return PhpProcess::withoutTheExtension()->loading(...self::EXTENSIONS)->code($this->booted($code));
    }

    private function booted(string $code): string
    {
        $boot = <<<'PHP'
            require 'vendor/autoload.php';
            $app = require 'bootstrap/app.php';
            $app->make(Illuminate\Contracts\Console\Kernel::class)->bootstrap();

            PHP;
        return "chdir({$this->quoted()});\n{$boot}{$code}";
    }

    /** @param array<string, string|int|float> $ini */
    private function php(array $ini = []): PhpProcess
    {
        return PhpProcess::with($ini)->loading(...self::EXTENSIONS);
    }

    private function quoted(): string
    {
        return var_export($this->path(), true);
    }

    private static function library(): string
    {
        return dirname(__DIR__, 2) . '/php';
    }

    private static function loader(): string
    {
        $checkout = getenv('LARAVEL_DIR');
        return $checkout === false || $checkout === '' ? self::DEBIAN : "{$checkout}/vendor/autoload.php";
    }

    /** What Composer would have written: the framework, this library, the application. */
    private static function autoload(): string
    {
        [$loader, $library] = array_map(static fn ($path) => var_export($path, true), [self::loader(), self::library()]);
        return <<<PHP
            <?php

            \$loader = require {$loader};
            // Laravel's HTTP client has it from Composer; Debian only suggests it.
            class_exists(GuzzleHttp\\Client::class) || require '/usr/share/php/GuzzleHttp/autoload.php';
            spl_autoload_register(static function (string \$class): void {
                foreach (['App\\\\' => dirname(__DIR__) . '/app', 'Sluice\\\\' => {$library} . '/src'] as \$prefix => \$directory) {
                    \$path = \$directory . '/' . strtr(substr(\$class, strlen(\$prefix)), '\\\\', '/') . '.php';
                    if (str_starts_with(\$class, \$prefix) && is_file(\$path)) {
                        require \$path;
                        return;
                    }
                }
            }, true, true);
            return \$loader;

            PHP;
    }

    private static function copy(string $from, string $to): void
    {
        foreach (array_diff(scandir($from), ['.', '..']) as $name) {
            if (is_dir("{$from}/{$name}")) {
                mkdir("{$to}/{$name}");
                self::copy("{$from}/{$name}", "{$to}/{$name}");
            } else {
                copy("{$from}/{$name}", "{$to}/{$name}");
            }
        }
    }
}
