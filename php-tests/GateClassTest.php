<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Gate;
use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\GatedPool;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\PhpResult;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** What PHP code learns of the gate, and the gate as a call. */
final class GateClassTest extends TestCase
{
    private const TOML = <<<'TOML'
        [limits]
        slots = "2 concurrent"
        [gate]
        allow = { path = "/health" }
        deny = { ip = "198.51.100.0/24" }
        [[gate.rule]]
        name = "report"
        path = "/report"
        key = "ip"
        limit = ["3/h", "slots"]
        answer = { status = 420, text = "later", headers = { X-Why = "calm" } }
        [[gate.rule]]
        name = "all"
        path = "/**"
        limit = "100/h"
        TOML;

    public function testAScriptLearnsItsRuleAndDecision(): void
    {
        $gate = GatedPool::with(self::TOML, code: <<<'PHP'
            use Sluice\Gate;
            $decision = Gate::decision();
            echo json_encode([
                Gate::rule(), $decision, Gate::answer(), Gate::check(), $decision === Gate::decision(),
            ]);
            PHP);
        [$rule, $decision, $answer, $check, $same] = $gate->get('/report')->json();
        self::assertSame(['report', null, null, true], [$rule, $answer, $check, $same]);
        self::assertTrue($decision['allowed']);
        self::assertTrue($decision['permit']);
        self::assertSame(['report', 'slots', 'all'], array_column($decision['parts'], 'policy'));
        self::assertSame([2, 1, 99], array_column($decision['parts'], 'remaining'));
        self::assertSame(['ip=203.0.113.7', 'ip=203.0.113.7', ''], array_column($decision['parts'], 'key'));
        self::assertSame(['allow', null], array_slice($gate->get('/health')->json(), 0, 2));
        [$rule, $decision] = $gate->get('/')->json();
        self::assertSame(['all', 'all', []], [$rule, $decision['policy'], $decision['parts']]);
        // Asking, and Gate::check() in particular, charged nothing.
        self::assertSame(1, $gate->get('/report')->json()[1]['parts'][0]['remaining']);
    }

    public function testWithoutAGateThereIsNothingToLearn(): void
    {
        $pool = FpmPool::start(1);
        $script = $pool->script('ask.php', <<<'PHP'
            use Sluice\Gate;
            echo json_encode([Gate::rule(), Gate::decision(), Gate::answer(), Gate::check(), Gate::status()['rules']]);
            PHP);
        self::assertSame([null, null, null, null, []], $pool->get($script)->json());
        Gate::finish();
        self::assertNull(Gate::check(['REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/']));
    }

    public function testADecisionIsRefundedOnce(): void
    {
        $gate = GatedPool::with(self::TOML, code: <<<'PHP'
            $limiter = new Sluice\Limiter();
            $limiter->refund(Sluice\Gate::decision());
            $limiter->refund(Sluice\Gate::decision());
            echo 'through';
            PHP);
        foreach (range(1, 6) as $_) {
            self::assertSame(200, $gate->status('/report'));
        }
    }

    public function testAWorkerAsksForEachRequest(): void
    {
        $seen = $this->inCli(<<<'PHP'
            use Sluice\Gate;
            $limiter = new Sluice\Limiter();
            foreach ([
                ['/report', '203.0.113.7'], ['/report', '203.0.113.7'], ['/report', '203.0.113.7'],
                ['/report', '203.0.113.7'], ['/x/../report', '203.0.113.8'], ['/', '198.51.100.1'],
                ['/health', '198.51.100.1'], ['/', '203.0.113.7'],
            ] as [$uri, $address]) {
                $server = ['REQUEST_METHOD' => 'GET', 'REQUEST_URI' => $uri, 'REMOTE_ADDR' => $address, 'REMOTE_PORT' => 5];
                $denied = Gate::check($server);
                assert($denied === null || $denied === Gate::decision());
                $seen[] = [
                    Gate::rule(), $denied?->allowed, Gate::answer()['status'] ?? null,
                    $limiter->peek("ip=$address", 'slots')->remaining,
                ];
            }
            Gate::finish();
            $seen[] = [Gate::rule(), Gate::decision(), $limiter->peek('ip=203.0.113.8', 'slots')->remaining];
            echo json_encode($seen);
            PHP);
        self::assertSame([
            ['report', null, null, 1], ['report', null, null, 1], ['report', null, null, 1],
            ['report', false, 420, 2], ['report', null, null, 1], ['deny', false, 403, 2],
            ['allow', null, null, 2], ['all', null, null, 2],
            [null, null, 2],
        ], $seen->json());
    }

    public function testCheckReadsServerVariablesWhereNothingIsGiven(): void
    {
        $seen = $this->inCli(<<<'PHP'
            $_SERVER['REQUEST_METHOD'] = 'GET';
            echo json_encode([Sluice\Gate::check(), Sluice\Gate::rule(), Sluice\Gate::status()['installed']]);
            PHP);
        self::assertSame([null, 'all', false], $seen->json());
    }

    public function testAnAnswerIsWhatFpmWouldSend(): void
    {
        $seen = $this->inCli(<<<'PHP'
            $server = ['REQUEST_URI' => '/report', 'REMOTE_ADDR' => '203.0.113.7'];
            while (!Sluice\Gate::check($server));
            echo json_encode(Sluice\Gate::answer());
            PHP)->json();
        $gate = GatedPool::with(self::TOML);
        do {
            $response = $gate->get('/report');
        } while ($response->status === 200);
        self::assertSame([$response->status, $response->body], [$seen['status'], $seen['body']]);
        $seen['headers'] = array_change_key_case($seen['headers']);
        self::assertSame('text/plain;charset=UTF-8', $seen['headers']['content-type']);
        foreach (['x-why', 'content-type', 'ratelimit-policy', 'retry-after'] as $name) {
            self::assertSame($response->headers[$name], $seen['headers'][$name]);
        }
    }

    public function testAFakeStoreIsTheGatesToo(): void
    {
        $seen = $this->inCli(<<<'PHP'
            $store = Sluice\Store::fake();
            $server = ['REQUEST_URI' => '/report', 'REMOTE_ADDR' => '203.0.113.7'];
            while (!($denied = Sluice\Gate::check($server)));
            $store->advance(3600.0);
            echo json_encode([$denied->source, Sluice\Gate::check($server)]);
            PHP);
        self::assertSame(['memory', null], $seen->json());
    }

    public function testCheckTakesAnArrayOrNothing(): void
    {
        $this->expectException(\TypeError::class);
        $this->expectExceptionMessage('Sluice\Gate::check(): Argument #1 ($server) must be of type ?array, string given');
        Gate::check('/report');
    }

    public function testCountersAreThoseOfAllWorkers(): void
    {
        $gate = GatedPool::with(self::TOML, workers: 3, code: 'echo json_encode(Sluice\Gate::status());');
        foreach (range(1, 5) as $_) {
            $gate->get('/report');
        }
        $gate->get('/', ['REMOTE_ADDR' => '198.51.100.1']);
        self::assertSame([
            'installed' => true, 'rules' => ['report', 'all'], 'allowed' => 3, 'refused' => 2, 'observed' => 0,
            'allowListed' => 1, 'denyListed' => 1, 'failed' => 0,
        ], $gate->get('/health')->json());
    }

    public function testPhpinfoShowsTheGate(): void
    {
        $path = TempDir::make()->write('sluice.toml', self::TOML);
        $info = PhpProcess::with(['sluice.config' => $path])->run('--ri', 'sluice')->stdout;
        self::assertStringContainsString('Gate => 2 rules, called by scripts', $info);
        self::assertStringContainsString('Gate => no rules', PhpProcess::with()->run('--ri', 'sluice')->stdout);
    }

    public function testValidateSaysWhatIsWrong(): void
    {
        $dir = TempDir::make();
        self::assertSame([], Gate::validate($dir->write('good.toml', self::TOML)));
        $messages = Gate::validate($dir->write('bad.toml', "[gate]\nallow = { ip = \"x\" }\n[[gate.rule]]\n"));
        self::assertCount(1, $messages);
        self::assertStringStartsWith('line 2, column 16: expected an address or a network', $messages[0]);
        $two = "[[gate.rule]]\nname = \"a\"\n[[gate.rule]]\nlimit = \"5/m\"\n";
        self::assertSame(
            ['line 1, column 1: expected a limit in this rule', 'line 3, column 1: expected a name in this rule'],
            Gate::validate($dir->write('two.toml', $two)),
        );
        self::assertStringContainsString('No such file', Gate::validate($dir->file('none'))[0]);
        self::assertStringContainsString('NUL', Gate::validate("a\0b")[0]);
        self::assertNotSame([], Gate::validate($dir->path));
        $outside = PhpProcess::with(['open_basedir' => __DIR__, 'display_errors' => '0'])
            ->run('-r', "echo json_encode(Sluice\\Gate::validate('{$dir->file('good.toml')}'));");
        self::assertStringContainsString('open_basedir', $outside->stdout);
    }

    public function testTheExamplesOfTheDocsAreFiles(): void
    {
        $docs = file_get_contents(dirname(__DIR__) . '/docs/gate.md');
        self::assertGreaterThan(2, preg_match_all('/```toml\n(.*?)```/s', $docs, $examples));
        $dir = TempDir::make();
        foreach ($examples[1] as $example) {
            self::assertSame([], Gate::validate($dir->write('example.toml', $example)), $example);
        }
    }

    private function inCli(string $code): PhpResult
    {
        $dir = TempDir::make();
        $path = $dir->write('sluice.toml', self::TOML);
        return PhpProcess::with(['sluice.config' => $path, 'error_log' => $dir->file('log')])->code($code);
    }
}
