<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Docs\Page;
use Sluice\Tests\Docs\Reader;
use Sluice\Tests\Support\Checkout;
use Sluice\Tests\Support\TestCase;

/** Each command and each snippet of a page is run, and does what the page says. */
final class DocsTest extends TestCase
{
    /** Pages, and what a machine must have to follow them. */
    private const PAGES = [
        'choosing-an-algorithm' => null,
        'choosing-numbers' => null,
        'why-was-i-refused' => null,
        'clients' => null,
        'guarding-a-database' => null,
        'guzzle' => null,
        'symfony' => null,
        'psr15' => ['SLIM_DIR', 'docs/psr15.md on Slim 4: a directory with vendor/autoload.php'],
    ];

    public static function pages(): iterable
    {
        foreach (self::PAGES as $name => $needs) {
            yield $name => [$name, $needs];
        }
    }

    /** @dataProvider pages */
    public function testAPageDoesWhatItSays(string $name, ?array $needs): void
    {
        if ($needs !== null && Checkout::of(...$needs) === null) {
            $this->expectNotToPerformAssertions();
            return;
        }
        $page = new Page(self::path($name, ''));
        self::assertNotSame([], $page->blocks);
        // Its own Symfony is Debian's, wherever another one is tested.
        foreach ((new Reader(['SYMFONY_DIR' => '']))->follow($page) as $text) {
            $pattern = str_replace('…', '.*', preg_quote($text['expected'], '/'));
            $where = "docs/{$name}.md:{$text['line']}";
            self::assertMatchesRegularExpression("/^{$pattern}$/u", $text['printed'], $where);
        }
    }

    /** @dataProvider pages */
    public function testItsTwinSaysTheSameInCode(string $name): void
    {
        self::assertSame((new Page(self::path($name, '')))->code(), (new Page(self::path($name, '.zh-CN')))->code());
    }

    /** @dataProvider pages */
    public function testItsLinksLeadSomewhere(string $name): void
    {
        foreach (['', '.zh-CN'] as $language) {
            $path = self::path($name, $language);
            preg_match_all('/\]\((?!https?:|#)([^)#]+)/', file_get_contents($path), $links);
            self::assertNotSame([], $links[1]);
            foreach ($links[1] as $link) {
                self::assertFileExists(dirname($path) . "/{$link}", $path);
            }
        }
    }

    public static function allPages(): iterable
    {
        foreach (glob(dirname(__DIR__) . '/{README,docs/*,README.*}.md', GLOB_BRACE) as $path) {
            yield basename($path) => [$path];
        }
    }

    /** @dataProvider allPages */
    public function testAClassThatItNamesIsThere(string $path): void
    {
        preg_match_all('/\bSluice\\\\(?:[A-Z]\w*\\\\)*[A-Z]\w*/', file_get_contents($path), $names);
        foreach (array_unique($names[0]) as $name) {
            $source = dirname(__DIR__) . '/php/src/' . strtr(substr($name, strlen('Sluice\\')), '\\', '/');
            $isThere = is_file("{$source}.php") || is_dir($source)
                || class_exists($name, false) || interface_exists($name, false);
            self::assertTrue($isThere, "{$path}: there is no {$name}");
        }
        $this->addToAssertionCount(1);
    }

    private static function path(string $name, string $language): string
    {
        return dirname(__DIR__) . "/docs/{$name}{$language}.md";
    }
}
