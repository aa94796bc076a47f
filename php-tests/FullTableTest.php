<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;

/** Shared memory that is full makes room; it never refuses a key for lack of it. */
final class FullTableTest extends TestCase
{
    public function testEveryNewKeyIsAdmittedAndEvictionsAreCounted(): void
    {
        $seen = PhpProcess::with(['sluice.shm_size' => '64K'])->code(<<<'PHP'
            $admitted = 0;
            for ($key = 0; $key < 20_000; $key++) {
                $admitted += (int) fixed_window_limit("key{$key}", 1, 3600);
            }
            $status = Sluice\Store::sharedMemory()->status()['sharedMemory'];
            echo json_encode([$admitted, $status['slots'], $status['live'] + $status['evictions']]);
            PHP)->json();
        self::assertSame([20_000, 4096, 20_000], $seen);
    }

    public function testWhatExpiresSoonestIsEvictedFirst(): void
    {
        $remembered = PhpProcess::with(['sluice.shm_size' => '64K'])->code(<<<'PHP'
            for ($key = 0; $key < 100; $key++) {
                fixed_window_limit("long{$key}", 1, 86_400);
            }
            for ($key = 0; $key < 20_000; $key++) {
                fixed_window_limit("short{$key}", 1, 3600);
            }
            $remembered = 0;
            for ($key = 0; $key < 100; $key++) {
                $remembered += (int) !fixed_window_limit("long{$key}", 1, 86_400);
            }
            echo json_encode($remembered);
            PHP)->json();
        self::assertSame(100, $remembered);
    }

    /**
     * Live permits are never given up, so there it may have no room.
     *
     * @dataProvider policies
     */
    public function testWhereAPermitHasNoRoomThePolicyAnswers(string $policy, string $expected): void
    {
        $code = <<<'PHP'
            $limiter = new Sluice\Limiter();
            try {
                for ($key = 0; $key < 100; $key++) {
                    $decision = $limiter->attempt("key{$key}", '1 concurrent');
                    if ($decision->source !== Sluice\Source::SharedMemory) {
                        break;
                    }
                }
                echo json_encode($decision->source->value);
            } catch (Sluice\StoreException $exception) {
                echo json_encode('thrown: ' . preg_match('/sluice.shm_size/', $exception->getMessage()));
            }
            PHP;
        $directives = ['sluice.shm_size' => '64K', 'sluice.on_failure' => $policy];
        self::assertSame($expected, PhpProcess::with($directives)->code($code)->json());
    }

    public static function policies(): iterable
    {
        yield 'local' => ['local', 'failed-open'];
        yield 'allow' => ['allow', 'failed-open'];
        yield 'deny' => ['deny', 'failed-closed'];
        yield 'throw' => ['throw', 'thrown: 1'];
    }
}
