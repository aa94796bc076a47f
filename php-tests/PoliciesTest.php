<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Limiter;
use Sluice\Store;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\PhpResult;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** Limits named once, in the file of sluice.config. */
final class PoliciesTest extends TestCase
{
    private TempDir $dir;

    protected function setUp(): void
    {
        $this->dir = TempDir::make();
    }

    public function testANameStandsForItsLimit(): void
    {
        $seen = $this->with(<<<'TOML'
            [limits]
            core = "20/s burst 7"
            "sms.day" = { spec = "3 per day UTC" }
            TOML, <<<'PHP'
            $limiter = new Sluice\Limiter();
            foreach (['core', 'sms.day', Sluice\Limit::policy('core')] as $limit) {
                $decision = $limiter->attempt('k', $limit);
                $seen[] = [$decision->policy, $decision->limit, $decision->remaining];
            }
            echo json_encode($seen);
            PHP);
        self::assertSame([['core', 7, 6], ['sms.day', 3, 2], ['core', 7, 5]], $seen->json());
    }

    public function testATableSaysWhatElseGoesWithIt(): void
    {
        $seen = $this->with(<<<'TOML'
            [limits]
            tried = { spec = "0/m", dry_run = true }
            strict = { spec = "5/m", on_failure = "deny" }
            shared = { spec = "10/m", on_failure = "local", local_share = 0.5 }
            TOML, <<<'PHP'
            $limiter = new Sluice\Limiter();
            $nowhere = new Sluice\Limiter('redis://127.0.0.1:1');
            $tried = $limiter->attempt('k', 'tried');
            echo json_encode([
                [$tried->allowed, $tried->wouldDeny],
                $nowhere->attempt('k', 'strict')->source,
                $nowhere->attempt('k', 'shared')->limit,
            ]);
            PHP);
        self::assertSame([[true, true], 'failed-closed', 5], $seen->json());
    }

    /** @dataProvider broken */
    public function testABrokenFileIsAStartupWarningWithThePlaceAndPhpStillWorks(
        string $toml,
        string $place,
        string $expected,
    ): void {
        $result = $this->with($toml, 'echo json_encode(fixed_window_limit("k", 1));');
        self::assertSame([0, 'true'], [$result->exitCode, $result->stdout]);
        self::assertStringContainsString(
            "Warning: PHP Startup: sluice.config: {$this->dir->file('sluice.toml')}: {$place}: ",
            $result->stderr,
        );
        self::assertStringContainsString($expected, $result->stderr);
    }

    public static function broken(): iterable
    {
        yield 'no TOML' => ["[limits]\ncore = ", 'line 2, column 8', ''];
        yield 'another section' => ["[limit]\n", 'line 1, column 2', 'expected [limits] or [gate], found "limit"'];
        yield 'no spec' => ["[limits]\ncore = \"5\"", 'line 2, column 8', '"per"'];
        yield 'a number' => ["[limits]\n\ncore = 5", 'line 3, column 8', 'a spec'];
        yield 'no name' => ["[limits]\n1st = \"5/m\"", 'line 2, column 1', 'not starting with a digit'];
        yield 'no option' => [
            "[limits]\ncore = { spek = \"5/m\" }", 'line 2, column 10', 'expected spec, dry_run, leased, on_failure',
        ];
        yield 'no policy' => [
            "[limits]\ncore = { spec = \"5/m\", on_failure = \"open\" }", 'line 2, column 37', '"deny"',
        ];
    }

    public function testAFileThatIsNotThereIsAStartupWarning(): void
    {
        $path = $this->dir->file('nowhere.toml');
        $result = PhpProcess::with(['sluice.config' => $path])->code('echo "goes on";');
        self::assertSame('goes on', $result->stdout);
        self::assertStringContainsString("Warning: PHP Startup: sluice.config: {$path}: No such file", $result->stderr);
    }

    public function testAnUnknownPolicyListsThoseThereAre(): void
    {
        $seen = $this->with("[limits]\nordinary = \"5/m\"\ncore = \"9/m\"", <<<'PHP'
            try {
                (new Sluice\Limiter())->allow('k', 'coer');
            } catch (ValueError $error) {
                echo json_encode($error->getMessage());
            }
            PHP);
        self::assertSame(
            'Sluice\Limiter::allow(): Argument #2 ($limit) must be a spec, which starts with a digit, or one of the'
                . " policies core, ordinary of {$this->dir->file('sluice.toml')}; \"coer\" given",
            $seen->json(),
        );
    }

    public function testAFileWithoutPoliciesSaysSo(): void
    {
        $seen = $this->with("[limits]\n", <<<'PHP'
            try {
                (new Sluice\Limiter())->allow('k', 'core');
            } catch (ValueError $error) {
                echo json_encode($error->getMessage());
            }
            PHP);
        self::assertStringEndsWith(
            "or a policy, and {$this->dir->file('sluice.toml')} has none; \"core\" given",
            $seen->json(),
        );
    }

    public function testWithoutAFileThereAreNone(): void
    {
        $this->expectException(\ValueError::class);
        $this->expectExceptionMessage('sluice.config names no file with policies; "core" given');
        (new Limiter(Store::memory()))->allow('k', 'core');
    }

    /** The one wait of real time: how often the file is looked at is a promise. */
    public function testAChangeIsSeenAndABrokenOneLeavesTheLastGoodOneInForce(): void
    {
        $result = $this->with("[limits]\ncore = \"5/m\"\n", <<<'PHP'
            $limiter = new Sluice\Limiter();
            $file = ini_get('sluice.config');
            $limitOf = fn (string $key) => $limiter->peek($key, 'core')->limit;
            $seen = [$limitOf('k')];
            file_put_contents($file, "[limits]\ncore = \"50/m\"\n");
            usleep(2_100_000);
            $seen[] = $limitOf('k');
            file_put_contents($file, "[limits]\ncore = \"500/fortnight\"\n");
            usleep(2_100_000);
            echo json_encode([...$seen, $limitOf('k'), $limitOf('k')]);
            PHP, ['log_errors' => 1, 'error_log' => $this->dir->file('log')]);
        self::assertSame([5, 50, 50, 50], $result->json());
        $log = file_get_contents($this->dir->file('log'));
        $path = $this->dir->file('sluice.toml');
        self::assertSame(1, substr_count($log, "sluice.config: {$path}: line 2, column 8: "), $log);
        self::assertStringContainsString('fortnight', $log);
    }

    private function with(string $toml, string $code, array $ini = []): PhpResult
    {
        $path = $this->dir->write('sluice.toml', $toml);
        return PhpProcess::with($ini + ['sluice.config' => $path])->code($code);
    }
}
