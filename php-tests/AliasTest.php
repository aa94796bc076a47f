<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;

/** Two short global names that give way to an application's own. */
final class AliasTest extends TestCase
{
    /** @dataProvider processes */
    public function testAnApplicationMayDeclareAClassOfThatName(PhpProcess $process): void
    {
        $seen = $process->code(<<<'PHP'
            class TokenBucketLimiter
            {
                public function whose(): string
                {
                    return 'theirs';
                }
            }
            class fixed_window_limit
            {
            }
            echo json_encode([
                (new TokenBucketLimiter())->whose(),
                new fixed_window_limit() instanceof Sluice\FixedWindowLimiter,
            ]);
            PHP);
        self::assertSame(['theirs', false], $seen->json());
    }

    /** @dataProvider processes */
    public function testAnApplicationMayLoadAClassOfThatNameLater(PhpProcess $process): void
    {
        $seen = $process->code(<<<'PHP'
            file_put_contents(__DIR__ . '/Theirs.php', '<?php class TokenBucketLimiter { const WHOSE = "theirs"; }');
            $early = class_exists('TokenBucketLimiter', false);
            require __DIR__ . '/Theirs.php';
            echo json_encode([$early, TokenBucketLimiter::WHOSE]);
            PHP);
        self::assertSame([false, 'theirs'], $seen->json());
    }

    /** @dataProvider processes */
    public function testAnAutoloaderOfTheApplicationComesFirst(PhpProcess $process): void
    {
        $seen = $process->code(<<<'PHP'
            file_put_contents(__DIR__ . '/Theirs.php', '<?php class TokenBucketLimiter { const WHOSE = "theirs"; }');
            spl_autoload_register(function (string $class): void {
                if ($class === 'TokenBucketLimiter') {
                    require __DIR__ . '/Theirs.php';
                }
            });
            $limiter = new TokenBucketLimiter();
            echo json_encode([$limiter::WHOSE, $limiter instanceof Sluice\TokenBucketLimiter]);
            PHP);
        self::assertSame(['theirs', false], $seen->json());
    }

    /** @dataProvider processes */
    public function testWithNobodyElsesTheNamesAreOurs(PhpProcess $process): void
    {
        $seen = $process->code(<<<'PHP'
            spl_autoload_register(function (string $class): void {
                // Knows nothing.
            });
            echo json_encode([
                get_class(new TokenBucketLimiter()),
                get_class(new \TOKENBUCKETLIMITER()),
                get_class(new fixed_window_limit()),
                (new fixed_window_limit())->allow('k', 1, 60),
                (new fixed_window_limit())->allow('k', 1, 60),
            ]);
            PHP);
        self::assertSame(
            [
                'Sluice\TokenBucketLimiter',
                'Sluice\TokenBucketLimiter',
                'Sluice\FixedWindowLimiter',
                true,
                false,
            ],
            $seen->json(),
        );
    }

    /** @dataProvider processes */
    public function testOnceUsedTheNamesWorkInTypesAndInInstanceof(PhpProcess $process): void
    {
        $seen = $process->code(<<<'PHP'
            function check(TokenBucketLimiter $limiter): bool
            {
                return $limiter instanceof TokenBucketLimiter && $limiter instanceof Sluice\TokenBucketLimiter;
            }
            class Holder
            {
                public ?fixed_window_limit $limiter = null;
            }
            $seen = [check(new TokenBucketLimiter()), check(new Sluice\TokenBucketLimiter())];
            $holder = new Holder();
            $holder->limiter = new fixed_window_limit();
            $seen[] = get_class($holder->limiter);
            try {
                check(new Sluice\FixedWindowLimiter());
            } catch (TypeError) {
                $seen[] = 'another is refused';
            }
            echo json_encode($seen);
            PHP);
        self::assertSame([true, true, 'Sluice\FixedWindowLimiter', 'another is refused'], $seen->json());
    }

    public function testAskingForTheClassFindsIt(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            echo json_encode([
                class_exists('TokenBucketLimiter'),
                (new ReflectionClass('fixed_window_limit'))->getName(),
                is_a('Sluice\FixedWindowLimiter', 'fixed_window_limit', true),
                method_exists('TokenBucketLimiter', 'attempt'),
            ]);
            PHP);
        self::assertSame([true, 'Sluice\FixedWindowLimiter', true, true], $seen->json());
    }

    public function testFunctionAndClassOfOneNameLiveSideBySide(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            $limiter = new fixed_window_limit();
            echo json_encode([
                fixed_window_limit('k', 2, 60),
                $limiter->allow('k', 2, 60),
                fixed_window_limit('k', 2, 60),
                array_map('fixed_window_limit', ['a', 'b'], [1, 0]),
            ]);
            PHP);
        self::assertSame([true, true, false, [true, false]], $seen->json());
    }

    public function testInANamespaceTheShortNameIsThatOfTheNamespace(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            namespace App;
            echo json_encode([class_exists('App\TokenBucketLimiter'), \get_class(new \TokenBucketLimiter())]);
            PHP);
        self::assertSame([false, 'Sluice\TokenBucketLimiter'], $seen->json());
    }

    public function testAnExceptionOfAnAutoloaderIsNotSwallowed(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            spl_autoload_register(fn (string $class) => throw new LogicException("looking for {$class}"));
            try {
                new TokenBucketLimiter();
            } catch (LogicException $exception) {
                echo json_encode($exception->getMessage());
            }
            PHP);
        self::assertSame('looking for TokenBucketLimiter', $seen->json());
    }

    /** With compiled scripts cached, the next request may be another application's. */
    public function testANameGivenInOneRequestIsFreeInTheNext(): void
    {
        $pool = FpmPool::start(1);
        $ours = $pool->script('ours.php', 'echo json_encode([getmypid(), get_class(new TokenBucketLimiter())]);');
        $theirs = $pool->script('theirs.php', <<<'PHP'
            class TokenBucketLimiter
            {
            }
            echo json_encode([getmypid(), get_class(new TokenBucketLimiter())]);
            PHP);
        $pid = $pool->get($ours)->json()[0];
        for ($time = 0; $time < 3; $time++) {
            self::assertSame([$pid, 'TokenBucketLimiter'], $pool->get($theirs)->json());
            self::assertSame([$pid, 'Sluice\TokenBucketLimiter'], $pool->get($ours)->json());
        }
    }

    public static function processes(): iterable
    {
        yield 'compiled anew' => [PhpProcess::with()];
        yield 'compiled and cached' => [PhpProcess::with()->caching()];
    }
}
