<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Docs\Page;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** What a newcomer does first: the README's snippets, and its links and those of all pages. */
final class ReadmeTest extends TestCase
{
    private const PROJECT = __DIR__ . '/..';

    public function testItsSnippetsRunFromTopToBottom(): void
    {
        $server = RedisServer::startOnPort();
        $snippets = array_filter((new Page(self::PROJECT . '/README.md'))->blocks, static fn ($block) => $block['language'] === 'php');
        $program = implode('', array_column($snippets, 'text'));
        $program = str_replace('127.0.0.1:6379', "127.0.0.1:{$server->port()}", $program, $replaced);
        self::assertSame(1, $replaced);
        $program = preg_replace('~^(.+);\s*// (true|false)$~m', '$told[] = [$1, $2];', $program, -1, $told);
        self::assertSame(3, $told);

        $seen = PhpProcess::with(['sluice.timeout' => '10s'])->loadingRedis()->code(<<<PHP
            \$redis = new Redis();
            \$redis->connect('127.0.0.1', {$server->port()});
            [\$userId, \$user, \$phone, \$ip] = [7, 'ann', '13800138000', '203.0.113.9'];
            \$db = new class { public function slowQuery(): array { return ['a row']; } };
            {$program}
            echo json_encode([\$rows, \$decision->allowed, \$decision->limit, \$decision->source->name, \$told]);
            PHP);
        self::assertSame('', $seen->stderr);
        self::assertSame(
            [['a row'], true, 100, 'Redis', [[true, true], [false, false], [true, true]]],
            $seen->json(),
        );
    }

    public function testItsTwinSaysTheSameInCode(): void
    {
        $code = static fn (string $path): array => array_values(array_filter(
            (new Page($path))->code(),
            static fn (array $block): bool => $block[0] !== 'text',
        ));
        self::assertSame($code(self::PROJECT . '/README.md'), $code(self::PROJECT . '/README.zh-CN.md'));
    }

    public function testEveryLinkLeadsToSomethingThatIsThere(): void
    {
        $pages = [...glob(self::PROJECT . '/*.md'), ...glob(self::PROJECT . '/docs/*.md'), ...glob(self::PROJECT . '/ops/*.md')];
        self::assertGreaterThan(20, count($pages));
        foreach ($pages as $page) {
            preg_match_all('/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/', file_get_contents($page), $links, PREG_SET_ORDER);
            foreach ($links as $link) {
                $target = $link[1] === '' ? $page : dirname($page) . "/{$link[1]}";
                self::assertFileExists($target, $page);
                if (isset($link[2])) {
                    self::assertContains($link[2], self::anchors($target), "{$page}: {$link[0]}");
                }
            }
        }
    }

    /** @return list<string> of its headings, as GitHub makes them */
    private static function anchors(string $page): array
    {
        $prose = preg_replace('/^```.*?^```$/ms', '', file_get_contents($page));
        preg_match_all('/^#+ (.+)$/m', $prose, $headings);
        return array_map(
            static fn (string $heading): string => str_replace(' ', '-', preg_replace('/[^\p{L}\p{N}_ -]/u', '', mb_strtolower($heading))),
            $headings[1],
        );
    }
}
