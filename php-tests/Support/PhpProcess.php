<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** PHP in a process of its own, with this extension and no php.ini but ours. */
final class PhpProcess
{
    /** @var array<string, string> */
    private array $ini = [];
    /** @var list<string> */
    private array $extensions = [];
    private ?string $phpIni = null;
    /** @var list<string> */
    private array $wrapper = [];
    /** @var array<string, string> */
    private array $environment = [];

    private function __construct()
    {
        $this->extensions[] = Extension::path();
    }

    /** @param array<string, string|int|float> $ini directives and their values */
    public static function with(array $ini = []): self
    {
        $process = new self();
        $process->ini = array_map(strval(...), $ini);
        return $process;
    }

    /** The same PHP, which has never heard of Sluice. */
    public static function withoutTheExtension(): self
    {
        $process = new self();
        $process->extensions = [];
        return $process;
    }

    /** Loads phpredis too, and what Debian's build of it needs. */
    public function loadingRedis(): self
    {
        return $this->loading('igbinary', 'redis');
    }

    /** Loads more extensions, in this order. */
    public function loading(string ...$extensions): self
    {
        array_push($this->extensions, ...$extensions);
        return $this;
    }

    /** Caches compiled scripts, as a server would. */
    public function caching(): self
    {
        $this->ini += [
            'zend_extension' => 'opcache',
            'opcache.enable_cli' => '1',
            // However new they are.
            'opcache.file_update_protection' => '0',
        ];
        return $this;
    }

    /** Reads lines of a php.ini, as written there. */
    public function reading(string $phpIni): self
    {
        $this->phpIni = $phpIni;
        return $this;
    }

    /** Runs under another program, such as valgrind. */
    public function under(string ...$wrapper): self
    {
        $this->wrapper = $wrapper;
        return $this;
    }

    /** @param array<string, string> $environment */
    public function inEnvironment(array $environment): self
    {
        $this->environment = $environment;
        return $this;
    }

    /** Runs PHP code, given without its opening tag. */
    public function code(string $code, string ...$arguments): PhpResult
    {
        $script = TempDir::make()->write('script.php', "<?php\n{$code}");
        return $this->run($script, ...$arguments);
    }

    /** Runs a file of `Fixtures`. */
    public function fixture(string $name, string ...$arguments): PhpResult
    {
        return $this->run(dirname(__DIR__) . "/Fixtures/{$name}", ...$arguments);
    }

    /** Runs `php` with these arguments. */
    public function run(string ...$arguments): PhpResult
    {
        $dir = TempDir::make();
        $exitCode = $this->started($dir, $arguments)->wait(120);
        return new PhpResult(
            $exitCode,
            file_get_contents($dir->file('stdout')),
            file_get_contents($dir->file('stderr')),
        );
    }

    /** Starts `php` with these arguments and does not wait for it. */
    public function start(string ...$arguments): Process
    {
        return $this->started(TempDir::make(), $arguments);
    }

    /** @param array<string> $arguments */
    private function started(TempDir $dir, array $arguments): Process
    {
        return new Process(
            [...$this->wrapper, PHP_BINARY, ...$this->options($dir), ...$arguments],
            $dir->file('stdout'),
            $dir->file('stderr'),
            environment: $this->environment + ['PHP_INI_SCAN_DIR' => ''],
        );
    }

    /** @return list<string> */
    private function options(TempDir $dir): array
    {
        $options = $this->phpIni === null
            ? ['-n']
            : ['-c', $dir->write('php.ini', $this->phpIni)];
        array_push($options, '-d', 'display_errors=stderr', '-d', 'log_errors=0');
        foreach ($this->extensions as $extension) {
            array_push($options, '-d', "extension={$extension}");
        }
        foreach ($this->ini as $name => $value) {
            // Quoted: a bare off, ? or & has a meaning in php.ini.
            array_push($options, '-d', "{$name}=\"{$value}\"");
        }
        return $options;
    }
}
