<?php

declare(strict_types=1);

namespace Sluice\Tests\Docs;

/** A page of the documentation, as its fenced blocks. */
final class Page
{
    /** @var list<array{language: string, file: ?string, text: string, line: int}> */
    public readonly array $blocks;

    public function __construct(public readonly string $path)
    {
        $blocks = [];
        $open = null;
        foreach (file($path, FILE_IGNORE_NEW_LINES) as $number => $line) {
            if ($open === null && preg_match('/^```(\w+)(?: (\S+))?$/', $line, $found) === 1) {
                $open = ['language' => $found[1], 'file' => $found[2] ?? null, 'text' => '', 'line' => $number + 2];
            } elseif ($open !== null && $line === '```') {
                $blocks[] = $open;
                $open = null;
            } elseif ($open !== null) {
                $open['text'] .= $line . "\n";
            } elseif (str_starts_with($line, '```')) {
                throw new \RuntimeException("{$path}:{$number}: a block without a language would not be run");
            }
        }
        $this->blocks = $blocks;
    }

    /**
     * What is run of it. Comments are not, for they speak the page's language;
     * assertions are.
     *
     * @return list<array{string, ?string, string}>
     */
    public function code(): array
    {
        $mark = '(?:\/\/|#|;) (?!=>)';
        $comment = "/^\s*\/\*\*.*\*\/\n|^\s*{$mark}.*\n|[ \t]+{$mark}.*$/m";
        return array_map(static fn (array $block): array => [
            $block['language'],
            $block['file'],
            preg_replace($comment, '', $block['text']),
        ], $this->blocks);
    }
}
