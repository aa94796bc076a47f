<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\Extension;
use Sluice\Tests\Support\Process;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** `pie/`, as PHP's installers build it: phpize, configure, make. */
final class PieTest extends TestCase
{
    private const PROJECT = __DIR__ . '/..';

    public static function waysToNameIt(): iterable
    {
        $name = 'php-config' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
        yield 'by its path, as PIE does' => ["/usr/bin/{$name}"];
        yield 'by its name, as configure does by itself' => [$name];
    }

    /** @dataProvider waysToNameIt */
    public function testPhpizeConfigureAndMakeGiveTheExtension(string $phpConfig): void
    {
        $dir = TempDir::make();
        mkdir($dir->file('pie'));
        foreach (['config.m4', 'Makefile.frag'] as $file) {
            copy(self::PROJECT . "/pie/{$file}", $dir->file("pie/{$file}"));
        }
        $version = PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
        $this->assertSucceeds($dir, ["phpize{$version}"]);
        $this->assertSucceeds($dir, ['./configure', "--with-php-config={$phpConfig}"]);
        // Where cargo finds all of it built already.
        $project = realpath(self::PROJECT);
        $this->assertSucceeds($dir, ['make', "top_srcdir={$project}/pie"], [
            'CARGO_TARGET_DIR' => dirname(Extension::path(), 2),
        ]);

        $extension = $dir->file('pie/modules/sluice.so');
        self::assertFileEquals(Extension::path(), $extension);
        $package = json_decode((string) file_get_contents(self::PROJECT . '/composer.json'), true);
        self::assertSame(['php-ext', 'pie'], [$package['type'], $package['php-ext']['build-path']]);
        self::assertSame('sluice', $package['php-ext']['extension-name']);
    }

    /**
     * @param list<string> $command
     * @param array<string, string> $environment
     */
    private function assertSucceeds(TempDir $dir, array $command, array $environment = []): void
    {
        $output = $dir->file('output');
        $process = new Process($command, $output, $output, $dir->file('pie'), $environment);
        self::assertSame(0, $process->wait(300), implode(' ', $command) . "\n" . file_get_contents($output));
    }
}
