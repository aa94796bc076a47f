<?php

declare(strict_types=1);

namespace Sluice\Tests\Docs;

use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** A page that is wrong does not go unnoticed. */
final class ReaderTest extends TestCase
{
    public function testAPageIsFollowedFromTopToBottom(): void
    {
        $texts = self::follow(<<<'MD'
            ```php src/a.php
            <?php echo 'a', PHP_EOL;
            ```
            ```sh
            composer require sluice/adapters
            php src/a.php
            ls vendor
            ```
            ```text
            a
            auto…php
            ```
            ```php
            use Sluice\Store;
            $seen = Store::memory()->status()['store'];   // => 'memory'
            ```
            ```php
            use Sluice\Store;
            echo $seen;
            ```
            ```text
            memory
            ```
            MD);
        self::assertSame(["a\nautoload.php\n", "memory\n"], array_column($texts, 'printed'));
        self::assertSame(["a\nauto…php\n", "memory\n"], array_column($texts, 'expected'));
        self::assertSame([10, 22], array_column($texts, 'line'));
    }

    public function testAServerIsThereBeforeItIsAsked(): void
    {
        $texts = self::follow(<<<'MD'
            ```php index.php
            <?php usleep(300_000); echo 'served';
            ```
            ```sh
            sleep 0.5; php -S 127.0.0.1:8080 index.php &
            curl -s http://127.0.0.1:8080/
            ```
            ```text
            served
            ```
            MD);
        self::assertSame("served\n", $texts[0]['printed']);
    }

    /** @dataProvider mistakes */
    public function testAMistakeIsFound(string $message, string $page): void
    {
        $this->expectException(\RuntimeException::class);
        $this->expectExceptionMessage($message);
        self::follow($page);
    }

    public static function mistakes(): iterable
    {
        yield 'another value' => ['line 3 gives 2', "\n```php\n1 + 1;   // => 3\n```"];
        yield 'another type' => ['line 2 gives 1', "```php\n1;   // => 1.0\n```"];
        yield 'a value of nothing' => ['line 3 says', "```php\nfoo(\n    1,   // => 1\n);\n```"];
        yield 'PHP that does not run' => ['Call to undefined function', "```php\nnone();\n```"];
        yield 'a notice' => ['Undefined variable', "```php\n\$none;\necho \$none;\n```"];
        yield 'a command that fails' => ['ended with 1', "```sh\nfalse\ntrue\n```"];
        yield 'a block of nothing known' => ['a block without a language', "```\ntrue\n```"];
    }

    public function testTwinsAreComparedWithoutTheirComments(): void
    {
        $code = fn (string $php) => self::page("```php\n{$php}\n```")->code();
        self::assertSame($code("/** one */\na();   // one\nb('x');"), $code("/** eins */\na();   // eins\nb('x');"));
        self::assertNotSame($code("a();   // => 1"), $code("a();   // => 2"));
        self::assertNotSame($code("a('x');"), $code("a('y');"));
    }

    /** @return list<array{line: int, expected: string, printed: string}> */
    private static function follow(string $text): array
    {
        return (new Reader())->follow(self::page($text));
    }

    private static function page(string $text): Page
    {
        return new Page(TempDir::make()->write('page.md', $text . "\n"));
    }
}
