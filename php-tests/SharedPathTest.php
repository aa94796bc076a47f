<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** A file by which processes share one table that were not forked off each other. */
final class SharedPathTest extends TestCase
{
    private const TAKE = 'echo json_encode(fixed_window_limit("k", 2, 3600));';

    private TempDir $dir;

    protected function setUp(): void
    {
        $this->dir = TempDir::make();
    }

    public function testProcessesOnTheCommandLineCountTogether(): void
    {
        $taken = array_map(fn () => $this->process()->code(self::TAKE)->json(), range(1, 3));
        self::assertSame([true, true, false], $taken);
    }

    public function testWithoutItEachCountsForItself(): void
    {
        $taken = array_map(fn () => PhpProcess::with()->code(self::TAKE)->json(), range(1, 3));
        self::assertSame([true, true, true], $taken);
    }

    public function testAPoolAndTheCommandLineCountTogether(): void
    {
        $pool = FpmPool::start(2, $this->ini());
        $script = $pool->script('take.php', self::TAKE);
        $taken = [
            $pool->get($script)->json(),
            $this->process()->code(self::TAKE)->json(),
            $pool->get($script)->json(),
        ];
        self::assertSame([true, true, false], $taken);
    }

    public function testWhatWasCountedOutlivesThePool(): void
    {
        foreach ([true, true, false] as $expected) {
            $pool = FpmPool::start(1, $this->ini());
            self::assertSame($expected, $pool->get($pool->script('take.php', self::TAKE))->json());
            $pool->stop();
        }
    }

    public function testTwoFilesAreTwoTables(): void
    {
        self::assertTrue($this->process('one')->code('echo json_encode(fixed_window_limit("k", 1, 3600));')->json());
        self::assertTrue($this->process('two')->code('echo json_encode(fixed_window_limit("k", 1, 3600));')->json());
    }

    public function testAFileOfAnotherSizeIsReplacedAndItsUserKeepsTheOld(): void
    {
        $pool = FpmPool::start(1, $this->ini());
        $script = $pool->script('take.php', self::TAKE);
        $pool->get($script);
        $pool->get($script);
        $fresh = PhpProcess::with(['sluice.shm_path' => $this->dir->file('table'), 'sluice.shm_size' => '2M']);
        self::assertTrue($fresh->code(self::TAKE)->json());
        self::assertFalse($pool->get($script)->json());
    }

    public function testAFileOfSomethingElseIsReplaced(): void
    {
        $this->dir->write('table', str_repeat('something else', 1 << 16));
        $taken = array_map(fn () => $this->process()->code(self::TAKE)->json(), range(1, 3));
        self::assertSame([true, true, false], $taken);
    }

    public function testOnlyOwnerAndGroupMayReadTheFile(): void
    {
        $this->process()->code(self::TAKE);
        self::assertSame(0, fileperms($this->dir->file('table')) & 0o007);
        self::assertSame(1572 << 10, filesize($this->dir->file('table')));
    }

    /** @dataProvider unusablePaths */
    public function testAPathThatCannotBeUsedIsAWarningWithItsNameAndPhpStillWorks(string $path): void
    {
        mkdir($this->dir->file('directory'));
        symlink($this->dir->file('elsewhere'), $this->dir->file('link'));
        $path = $this->dir->file($path);
        $result = PhpProcess::with(['sluice.shm_path' => $path])->code(<<<'PHP'
            $limiter = new Sluice\FixedWindowLimiter();
            $decisions = array_map(fn () => $limiter->attempt('k', 2, 3600), range(1, 3));
            echo json_encode([array_column($decisions, 'allowed'), $decisions[0]->source]);
            PHP);
        self::assertSame(0, $result->exitCode);
        self::assertStringStartsWith(
            "Warning: PHP Startup: sluice has no shared memory, so each process counts for itself: {$path}: ",
            $result->stderr,
        );
        self::assertSame([[true, true, false], 'memory'], json_decode($result->stdout, true));
        self::assertFileDoesNotExist($this->dir->file('elsewhere'));
    }

    public static function unusablePaths(): iterable
    {
        yield 'in a directory that is not there' => ['missing/table'];
        yield 'a directory' => ['directory'];
        yield 'a link, which anybody may have laid' => ['link'];
    }

    private function process(string $file = 'table'): PhpProcess
    {
        return PhpProcess::with($this->ini($file));
    }

    /** @return array<string, string> */
    private function ini(string $file = 'table'): array
    {
        return ['sluice.shm_path' => $this->dir->file($file), 'sluice.shm_size' => '1M'];
    }
}
