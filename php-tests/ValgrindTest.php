<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\PhpResult;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** Valgrind finds nothing of ours that is lost, and no access that is wrong. */
final class ValgrindTest extends TestCase
{
    public function testTheWholeSurfaceLosesNoMemoryAndTouchesNoneOfOthers(): void
    {
        $report = TempDir::make()->file('report.xml');
        $result = self::underValgrind($report, 'everything.php', RedisServer::start()->dsn());
        self::assertSame(0, $result->exitCode, $result->stderr);
        self::assertSame('did it all', $result->stdout);

        $errors = simplexml_load_file($report)->xpath('/valgrindoutput/error');
        self::assertSame([], array_values(array_filter(array_map(self::ours(...), $errors))));
    }

    private static function underValgrind(string $report, string $fixture, string ...$arguments): PhpResult
    {
        self::assertNotEmpty(
            array_filter(explode(':', getenv('PATH')), fn (string $dir) => is_executable("{$dir}/valgrind")),
            'valgrind is not installed; it is a package of that name in Debian',
        );
        $dir = TempDir::make();
        $config = $dir->write('sluice.toml', <<<'TOML'
            [gate]
            deny = { path = "/denied" }
            [[gate.rule]]
            name = "few"
            path = "/few/**"
            key = ["ip", "cookie:a", "query:b"]
            limit = ["2/h", "2 concurrent"]
            [[gate.rule]]
            name = "all"
            limit = "100/h"
            TOML);
        return PhpProcess::with(['sluice.config' => $config, 'error_log' => $dir->file('log')])
            // PHP's own pools hide what is lost in them.
            ->inEnvironment(['USE_ZEND_ALLOC' => '0'])
            ->under(
                'valgrind',
                '--leak-check=full',
                '--show-leak-kinds=definite',
                '--errors-for-leak-kinds=definite',
                '--num-callers=40',
                '--xml=yes',
                "--xml-file={$report}",
            )
            ->fixture($fixture, ...$arguments);
    }

    /** An error in words, if the extension has a part in it; PHP's own are PHP's. */
    private static function ours(\SimpleXMLElement $error): ?string
    {
        $objects = array_map(strval(...), $error->xpath('stack/frame/obj'));
        if (array_filter($objects, fn (string $object) => str_contains($object, 'libsluice')) === []) {
            return null;
        }
        $frames = array_map(strval(...), $error->xpath('stack/frame/fn'));
        return "{$error->kind} {$error->what}{$error->xwhat->text}: " . implode(' < ', $frames);
    }
}
