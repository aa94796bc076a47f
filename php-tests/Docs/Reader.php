<?php

declare(strict_types=1);

namespace Sluice\Tests\Docs;

use Sluice\Tests\Support\Extension;
use Sluice\Tests\Support\Process;
use Sluice\Tests\Support\TempDir;

/**
 * Somebody who does all that a page says, from top to bottom, in an empty
 * directory.
 *
 * - a block with a file's name is written to that file;
 * - `sh` is run, all of it in one shell, and a `text` block behind it is what
 *   it prints, where `…` stands for anything within a line;
 * - `php` without a name is one program, and `// => value` behind an expression
 *   is what it gives. A `text` block behind it is what it prints.
 *
 * The page's port 8080 is a free one. `composer` gives the library as it is
 * here, and Debian's packages; `php` has the extension.
 */
final class Reader
{
    private readonly TempDir $dir;
    private readonly int $port;

    /** @param array<string, string> $environment */
    public function __construct(private readonly array $environment = [])
    {
        $this->dir = TempDir::make();
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $this->port = (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);
        fclose($listener);
        mkdir($this->dir->file('bin'));
        mkdir($this->dir->file('app'));
        // Without deprecations: Debian's frameworks are older than its PHP.
        $options = ' -d error_reporting=8191 -d extension=' . Extension::path();
        $this->tool('php', 'exec ' . PHP_BINARY . "{$options} \"\$@\"");
        $this->tool('composer', 'exec php ' . __DIR__ . '/composer.php "$@"');
    }

    /**
     * @return list<array{line: int, expected: string, printed: string}> what
     *         was to be printed, and was
     */
    public function follow(Page $page): array
    {
        $shell = $program = '';
        $expected = [];
        $before = null;
        foreach ($page->blocks as $number => $block) {
            $text = str_replace('8080', (string) $this->port, $block['text']);
            $mark = "== {$block['line']} ==";
            if ($block['file'] !== null) {
                // In its turn, as the page has it.
                $path = $this->dir->file("block-{$number}");
                file_put_contents($path, $text);
                $shell .= 'mkdir -p ' . dirname($block['file']) . " && cp {$path} {$block['file']}\n";
            } elseif ($block['language'] === 'sh') {
                $shell .= "printf '\\n%s\\n' '{$mark}'\n" . $this->waiting($text);
            } elseif ($block['language'] === 'php') {
                $program .= "echo \"\\n{$mark}\\n\";\n" . self::asserting($text, $block['line']);
            } elseif ($block['language'] === 'text' && in_array($before['language'] ?? '', ['sh', 'php'], true)) {
                $expected[$before['line']] = [$block['line'], $text];
            }
            $before = $block;
        }
        $printed = $this->sections($this->shell($shell)) + $this->sections($this->php($program));
        return array_map(static fn (int $of, array $block): array => [
            'line' => $block[0],
            'expected' => $block[1],
            'printed' => $printed[$of] ?? '',
        ], array_keys($expected), $expected);
    }

    private function shell(string $script): string
    {
        $script = "trap 'kill \$(jobs -p) 2>/dev/null || true' EXIT\n{$script}";
        return $this->run(['bash', '-e', '-o', 'pipefail', $this->dir->write('script.sh', $script)]);
    }

    private function php(string $program): string
    {
        if ($program === '') {
            return '';
        }
        // Each block may say what it uses.
        preg_match_all('/^use [^;]+;\n/m', $program, $uses);
        $program = str_replace($uses[0], '', $program);
        $installed = $this->dir->file('app/vendor/autoload.php');
        $autoload = var_export(is_file($installed) ? $installed : dirname(__DIR__) . '/autoload.php', true);
        if (str_contains($program, 'new Factory()')) {
            $autoload .= "; require '/usr/share/php/Illuminate/Http/autoload.php'";
        }
        $uses = implode('', array_unique($uses[0]));
        return $this->run(['php', $this->dir->write('program.php', "<?php\n{$uses}" . <<<PHP
            require {$autoload};
            function gives(mixed \$value, mixed \$expected, int \$line): void
            {
                if (\$value !== \$expected) {
                    fwrite(STDERR, "line {\$line} gives " . var_export(\$value, true) . "\\n");
                    exit(1);
                }
            }
            {$program}
            PHP)]);
    }

    /** `expression; // => value` becomes a check. */
    private static function asserting(string $php, int $line): string
    {
        $lines = explode("\n", $php);
        foreach ($lines as $number => $text) {
            if (preg_match('~^(\s*)(.+);\s*// => (.+)$~', $text, $found) === 1) {
                $lines[$number] = sprintf('%sgives(%s, %s, %d);', $found[1], $found[2], $found[3], $line + $number);
            } elseif (str_contains($text, '// =>')) {
                throw new \RuntimeException('line ' . $line + $number . ' says what it gives, but is no expression');
            }
        }
        return implode("\n", $lines);
    }

    /** A server in the background is there before the next line is run. */
    private function waiting(string $script): string
    {
        $connect = "(exec 3<>/dev/tcp/127.0.0.1/{$this->port}) 2>/dev/null";
        $wait = "for i in \$(seq 600); do {$connect} && break; sleep 0.05; done";
        return preg_replace('/^(.*[^&]) &$/m', "\$1 >server.log 2>&1 &\n{$wait}", $script);
    }

    /** @return array<int, string> what was printed, by the line of its block */
    private function sections(string $output): array
    {
        $sections = [];
        foreach (preg_split('/^== (\d+) ==\n/m', $output, -1, PREG_SPLIT_DELIM_CAPTURE) as $number => $part) {
            if ($number % 2 === 1) {
                $line = (int) $part;
            } elseif ($number > 0) {
                $sections[$line] = trim(str_replace("\r", '', $part), "\n") . "\n";
            }
        }
        return $sections;
    }

    /** @param list<string> $command */
    private function run(array $command): string
    {
        $process = new Process(
            $command,
            $this->dir->file('out'),
            $this->dir->file('err'),
            $this->dir->file('app'),
            $this->environment + ['PATH' => $this->dir->file('bin') . ':' . getenv('PATH')],
        );
        $code = $process->wait(60);
        $error = file_get_contents($this->dir->file('err'));
        if ($code !== 0 || ($command[0] === 'php' && $error !== '')) {
            $output = file_get_contents($this->dir->file('out'));
            $log = @file_get_contents($this->dir->file('app/server.log'));
            throw new \RuntimeException("ended with {$code}\n{$error}\n{$output}\n{$log}");
        }
        return file_get_contents($this->dir->file('out'));
    }

    private function tool(string $name, string $script): void
    {
        chmod($this->dir->write("bin/{$name}", "#!/bin/sh\n{$script}\n"), 0o755);
    }
}
