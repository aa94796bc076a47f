<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\PhpResult;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** What an operator sees of the extension, and what nobody sees. */
final class InfoTest extends TestCase
{
    private const DSN = 'redis://app:hunter2@127.0.0.1:1/2';
    private const MASKED = 'redis://app:***@127.0.0.1:1/2';

    public function testShowsVersionStoreAndSharedMemory(): void
    {
        $rows = self::rows(PhpProcess::with(['sluice.shm_size' => '1M'])->run('--ri', 'sluice'));
        self::assertSame('enabled', $rows['Sluice']);
        self::assertSame(phpversion('sluice'), $rows['Version']);
        self::assertSame('shared memory', $rows['Store']);
        self::assertSame('1572 KiB, 65536 slots (anonymous)', $rows['Shared memory']);
        self::assertSame('0', $rows['Keys in shared memory']);
        self::assertSame('0', $rows['Evictions of live keys']);
    }

    public function testShowsHowManyKeysThereAre(): void
    {
        $result = PhpProcess::with()->code(<<<'PHP'
            fixed_window_limit('one', 1, 3600);
            fixed_window_limit('two', 1, 3600);
            phpinfo(INFO_MODULES);
            PHP);
        self::assertSame('2', self::rows($result)['Keys in shared memory']);
    }

    public function testShowsTheFileOfSharedMemory(): void
    {
        $path = TempDir::make()->file('table');
        $ini = ['sluice.shm_path' => $path, 'sluice.shm_size' => '64K'];
        $rows = self::rows(PhpProcess::with($ini)->run('--ri', 'sluice'));
        self::assertSame("136 KiB, 4096 slots ({$path})", $rows['Shared memory']);
    }

    public function testShowsTheConnectionToRedis(): void
    {
        $server = RedisServer::start();
        $result = PhpProcess::with(['sluice.store' => $server->dsn()])->code(<<<'PHP'
            fixed_window_limit('k', 1);
            phpinfo(INFO_MODULES);
            PHP);
        $rows = self::rows($result);
        self::assertSame('redis', $rows['Store']);
        self::assertSame($server->shownDsn(), $rows['Redis']);
        self::assertSame('open', $rows['Connection of this worker']);
        self::assertSame('1, 1, 0', $rows['Connections, calls, faults']);
        self::assertArrayNotHasKey('Last fault', $rows);
    }

    public function testShowsTheLastFault(): void
    {
        $result = PhpProcess::with(['sluice.store' => self::DSN])->code(<<<'PHP'
            fixed_window_limit('k', 1);
            phpinfo(INFO_MODULES);
            PHP);
        $rows = self::rows($result);
        self::assertSame('not open', $rows['Connection of this worker']);
        self::assertSame('0, 1, 1', $rows['Connections, calls, faults']);
        self::assertStringStartsWith(self::MASKED . ': cannot connect', $rows['Last fault']);
        self::assertStringNotContainsString('hunter2', $result->stdout);
    }

    /** @dataProvider commands */
    public function testMasksThePasswordOnTheCommandLine(array $command): void
    {
        $result = PhpProcess::with(['sluice.store' => self::DSN])->run(...$command);
        self::assertSame([0, ''], [$result->exitCode, $result->stderr]);
        self::assertStringContainsString('sluice.store => ' . self::MASKED . ' => ' . self::MASKED, $result->stdout);
        self::assertStringNotContainsString('hunter2', $result->stdout);
    }

    public static function commands(): iterable
    {
        yield '--ri' => [['--ri', 'sluice']];
        yield '-i' => [['-i']];
    }

    public function testMasksThePasswordOfARequestThatChangedTheStore(): void
    {
        $result = PhpProcess::with(['sluice.store' => 'redis://:hunter1@first'])->code(<<<'PHP'
            ini_set('sluice.store', 'redis://:hunter2@second');
            phpinfo(INFO_MODULES);
            PHP);
        self::assertStringContainsString(
            'sluice.store => redis://:***@second:6379/0 => redis://:***@first:6379/0',
            $result->stdout,
        );
        self::assertStringNotContainsString('hunter', $result->stdout);
    }

    public function testMasksThePasswordInABrowser(): void
    {
        $pool = FpmPool::start(1, ['sluice.store' => self::DSN]);
        $page = $pool->get($pool->script('info.php', 'phpinfo();'));
        self::assertStringContainsString('<td class="v">' . self::MASKED . '</td>', $page->body);
        self::assertStringNotContainsString('hunter2', $page->body);
    }

    public function testNothingOfADsnBecomesHtml(): void
    {
        $pool = FpmPool::start(1, ['sluice.store' => 'redis://%3Cb%3E%26:hunter2@127.0.0.1:1']);
        $page = $pool->get($pool->script('info.php', 'phpinfo(INFO_MODULES);'));
        self::assertStringContainsString('redis://&lt;b&gt;&amp;:***@127.0.0.1:1/0', $page->body);
        self::assertStringNotContainsString('<b>&', $page->body);
    }

    public function testADsnWithANulIsNoReasonToCrash(): void
    {
        $dsn = 'redis://127.0.0.1:1?user=a%00b&password=hunter2';
        $result = PhpProcess::with(['sluice.store' => $dsn])->run('--ri', 'sluice');
        self::assertSame(0, $result->exitCode, $result->stderr);
        self::assertStringContainsString('Evictions of live keys', $result->stdout);
        self::assertStringNotContainsString('hunter2', $result->stdout);
    }

    public function testShowsAFakeAsWhatItIs(): void
    {
        $result = PhpProcess::with()->code(<<<'PHP'
            Sluice\Store::fake();
            phpinfo(INFO_MODULES);
            PHP);
        self::assertSame('this process alone', self::rows($result)['Store']);
    }

    /** @return array<string, string> what stands beside what */
    private static function rows(PhpResult $result): array
    {
        self::assertSame([0, ''], [$result->exitCode, $result->stderr]);
        preg_match_all('/^(.+?) => (.+)$/m', strstr($result->stdout, "\nsluice\n"), $found);
        return array_combine($found[1], $found[2]);
    }
}
