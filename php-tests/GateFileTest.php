<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\GatedPool;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** The file is read at start, followed while PHP runs, and never takes a site down. */
final class GateFileTest extends TestCase
{
    private const OPEN = "[[gate.rule]]\nname = \"r\"\nlimit = \"1000/h\"\n";
    private const CLOSED = "[[gate.rule]]\nname = \"r\"\nlimit = \"0/h\"\n";
    private const BROKEN = "[[gate.rule]]\nname = \"r\"\nlimit = \"0/h\"\npaht = \"/x\"\n";

    public function testABrokenFileIsAStartupWarningAndThereIsNoGate(): void
    {
        $path = TempDir::make()->write('sluice.toml', self::BROKEN);
        $result = PhpProcess::with(['sluice.config' => $path])
            ->code('echo json_encode(Sluice\Gate::check(["REQUEST_URI" => "/"]));');
        self::assertSame([0, 'null'], [$result->exitCode, $result->stdout]);
        self::assertStringContainsString(
            "Warning: PHP Startup: sluice.config: {$path}: line 4, column 1: expected name, path, host, method, key,"
                . ' limit, on_failure, dry_run, headers or answer, found "paht"',
            $result->stderr,
        );
        $gate = GatedPool::with(self::BROKEN);
        self::assertSame(200, $gate->status('/'));
    }

    public function testAChangeIsSeenAndABrokenOneLeavesTheLastGoodOneInForce(): void
    {
        $gate = GatedPool::with(self::OPEN, workers: 3);
        self::assertSame([200], $this->statuses($gate));
        $this->change($gate, self::CLOSED);
        self::assertSame([429], $this->statuses($gate));
        $this->change($gate, self::BROKEN);
        self::assertSame([429], $this->statuses($gate));
        self::assertSame(1, substr_count($gate->log(), 'line 4, column 1'), $gate->log());
        $this->change($gate, null);
        self::assertSame([429], $this->statuses($gate));
        self::assertSame(1, substr_count($gate->log(), 'No such file'), $gate->log());
        $this->change($gate, self::OPEN);
        self::assertSame([200], $this->statuses($gate));
        $this->change($gate, "[limits]\na = \"5/m\"\n");
        self::assertSame([200], $this->statuses($gate));
    }

    public function testAGateComesToAFileThatHadNone(): void
    {
        $gate = GatedPool::with("[limits]\na = \"5/m\"\n");
        self::assertSame(200, $gate->status('/'));
        $this->change($gate, self::CLOSED);
        self::assertSame(429, $gate->status('/'));
    }

    /** Not when it reads its body, nor when it includes a file. */
    public function testAGateThatComesDuringARequestIsForTheNextOne(): void
    {
        $dir = TempDir::make();
        $included = $dir->write('included.php', "<?php return ' and a file';");
        $gate = GatedPool::with("[limits]\na = \"5/m\"\n", code: <<<PHP
            while (!is_file('{$dir->file('go')}')) {
                usleep(1000);
                clearstatcache();
            }
            echo file_get_contents('php://input'), include '{$included}', Sluice\Gate::rule();
            PHP);
        $request = $gate->send('/', ['REQUEST_METHOD' => 'PUT'], 'body');
        $this->change($gate, self::CLOSED);
        touch($dir->file('go'));
        self::assertSame('body and a file', $request->response()->body);
        self::assertSame(429, $gate->status('/'));
    }

    /** php-fpm sets it in the worker, after PHP has started. */
    public function testAPoolHasAFileOfItsOwn(): void
    {
        $own = TempDir::make()->write('pool.toml', self::CLOSED);
        $gate = GatedPool::with(self::OPEN, directives: ['php_admin_value[sluice.config]' => $own]);
        self::assertSame(429, $gate->status('/'));
        $gate = GatedPool::with(self::CLOSED, directives: ['php_admin_value[sluice.mode]' => 'observe']);
        self::assertSame(200, $gate->status('/'));
    }

    /** Changes the file or takes it away, and waits until every worker is due to look. */
    private function change(GatedPool $gate, ?string $toml): void
    {
        $toml === null ? unlink($gate->dir->file('sluice.toml')) : $gate->change($toml);
        usleep(1_100_000);
    }

    /** @return list<int> the different statuses that the workers answer with */
    private function statuses(GatedPool $gate): array
    {
        $statuses = [];
        foreach (range(1, 5) as $_) {
            $requests = array_map(fn () => $gate->send('/'), range(1, 6));
            array_push($statuses, ...array_map(fn ($request) => $request->response()->status, $requests));
        }
        return array_values(array_unique($statuses));
    }
}
