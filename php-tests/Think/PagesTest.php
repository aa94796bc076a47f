<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\TestCase;

/** The two pages for ThinkPHP, as far as they can be looked at without it. */
final class PagesTest extends TestCase
{
    private const DOCS = __DIR__ . '/../../docs';

    public function testBothLanguagesShowTheSameCode(): void
    {
        self::assertNotSame([], DocsTest::blocks('thinkphp.md'));
        self::assertSame(DocsTest::blocks('thinkphp.md'), DocsTest::blocks('thinkphp.zh-CN.md'));
    }

    public function testNoBlockIsOfAKindThatNobodyRuns(): void
    {
        foreach (DocsTest::blocks('thinkphp.md') as [$language, $path, $text]) {
            self::assertContains($language, ['sh', 'php', 'http', 'text', 'ini'], $text);
            self::assertSame(in_array($language, ['php', 'ini'], true), $path !== '', $text);
        }
    }

    public function testLinksLeadSomewhere(): void
    {
        foreach (['thinkphp.md', 'thinkphp.zh-CN.md'] as $page) {
            preg_match_all('/\]\(([\w.\/-]+)/', (string) file_get_contents(self::DOCS . "/{$page}"), $links);
            self::assertNotSame([], $links[1]);
            foreach ($links[1] as $link) {
                self::assertFileExists(self::DOCS . "/{$link}", $page);
            }
        }
    }
}
