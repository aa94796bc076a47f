<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\GatedPool;
use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** Rules of the file, enforced before PHP compiles a line. */
final class GateTest extends TestCase
{
    private const RULE = <<<'TOML'
        [[gate.rule]]
        name = "report"
        path = "/report"
        key = "ip"
        limit = "2/h"
        TOML;

    public function testARefusedRequestRunsNoLineOfPhp(): void
    {
        $gate = GatedPool::with(self::RULE);
        $statuses = array_map(fn () => $gate->status('/report?x=1'), range(1, 5));
        self::assertSame([200, 200, 429, 429, 429], $statuses);
        self::assertSame(2, $gate->runs());
        self::assertSame(200, $gate->status('/report', ['REMOTE_ADDR' => '203.0.113.8']));
        self::assertSame(200, $gate->status('/reports'));
    }

    public function testARefusalHasTheUsualHeadersAndAProblemAsBody(): void
    {
        $gate = GatedPool::with(str_replace('2/h', '0/h', self::RULE));
        $response = $gate->get('/report');
        self::assertSame(429, $response->status);
        self::assertSame('application/problem+json', $response->headers['content-type']);
        self::assertSame('"report";q=0;w=3600', $response->headers['ratelimit-policy']);
        self::assertSame('0', $response->headers['x-ratelimit-remaining']);
        self::assertArrayNotHasKey('retry-after', $response->headers);
        self::assertSame(429, $response->json()['status']);
        self::assertSame(['report'], $response->json()['violated-policies']);
    }

    public function testRetryAfterIsInWholeSecondsRoundedUp(): void
    {
        $gate = GatedPool::with(str_replace('2/h', '1/s', self::RULE));
        $gate->get('/report');
        self::assertSame('1', $gate->get('/report')->headers['retry-after']);
    }

    public function testARuleHasAnAnswerOfItsOwn(): void
    {
        $gate = GatedPool::with(<<<'TOML'
            [[gate.rule]]
            name = "json"
            path = "/json"
            limit = "0/h"
            answer = { status = 503, json = '{"code":42901}', headers = { Retry-After = "7", "X-Why" = "too many" } }
            [[gate.rule]]
            name = "text"
            path = "/text"
            limit = "0/h"
            answer = { text = "请稍后再试" }
            TOML);
        $json = $gate->get('/json');
        self::assertSame([503, '{"code":42901}'], [$json->status, $json->body]);
        self::assertSame('application/json', $json->headers['content-type']);
        self::assertSame(['7', 'too many'], [$json->headers['retry-after'], $json->headers['x-why']]);
        $text = $gate->get('/text');
        self::assertSame([429, '请稍后再试'], [$text->status, $text->body]);
        self::assertSame('text/plain;charset=UTF-8', $text->headers['content-type']);
        self::assertSame(0, $gate->runs());
    }

    public function testARequestThatNoRuleIsAboutIsUntouchedByteForByte(): void
    {
        $code = 'header("X-Mine: 1"); echo json_encode([$_GET, $_POST, $_SERVER["REQUEST_URI"], headers_list()]);';
        $gate = GatedPool::with(self::RULE, code: $code);
        $plain = FpmPool::start(1);
        $script = $plain->script('index.php', $code);
        $params = ['REQUEST_METHOD' => 'POST', 'CONTENT_TYPE' => 'application/x-www-form-urlencoded'];
        $with = $gate->get('/other?a=1', $params, 'b=2');
        $without = (new Support\FastCgiRequest($plain->listen(), $script, [], $params + [
            'REQUEST_URI' => '/other?a=1', 'QUERY_STRING' => 'a=1',
        ], 'b=2'))->response();
        self::assertEquals($without, $with);
        self::assertSame([['a' => '1'], ['b' => '2']], array_slice($with->json(), 0, 2));
    }

    public function testARequestThatIsLetThroughIsUntouchedUnlessTheRuleWantsHeaders(): void
    {
        $gate = GatedPool::with(self::RULE);
        self::assertEquals($gate->get('/other'), $gate->get('/report'));
        $gate = GatedPool::with(self::RULE . "\nheaders = true");
        $response = $gate->get('/report');
        self::assertSame('through', $response->body);
        self::assertSame('1', $response->headers['x-ratelimit-remaining']);
        self::assertStringStartsWith('"report";r=1;t=', $response->headers['ratelimit']);
        self::assertArrayNotHasKey('ratelimit', $gate->get('/other')->headers);
    }

    public function testTheDenyListIsForbiddenAndTheAllowListComesFirst(): void
    {
        $gate = GatedPool::with(<<<'TOML'
            [gate]
            allow = { ip = "203.0.113.9", path = "/health", header = { X-Token = ["s3cret"] } }
            deny = { ip = "203.0.113.0/24", answer = { status = 410, text = "gone" } }
            [[gate.rule]]
            name = "all"
            limit = "0/h"
            TOML);
        self::assertSame(410, $gate->status('/'));
        self::assertSame('gone', $gate->get('/')->body);
        self::assertSame(200, $gate->status('/', ['REMOTE_ADDR' => '203.0.113.9']));
        self::assertSame(200, $gate->status('/health'));
        self::assertSame(200, $gate->status('/', ['HTTP_X_TOKEN' => 's3cret']));
        self::assertSame(410, $gate->status('/', ['HTTP_X_TOKEN' => 's3cre']));
        self::assertSame(429, $gate->status('/', ['REMOTE_ADDR' => '198.51.100.1']));
        self::assertSame(3, $gate->runs());
    }

    public function testObserveLetsThroughAndOffDoesNothing(): void
    {
        $toml = "[gate]\ndeny = { path = \"/old\" }\n" . str_replace('2/h', '0/h', self::RULE);
        $observing = GatedPool::with($toml, ini: ['sluice.mode' => 'observe']);
        self::assertSame([200, 200], [$observing->status('/report'), $observing->status('/old')]);
        self::assertSame(2, substr_count($observing->log(), 'would refuse'), $observing->log());
        $off = GatedPool::with($toml, ini: ['sluice.mode' => 'off']);
        self::assertSame([200, 200], [$off->status('/report'), $off->status('/old')]);
        self::assertSame('', $off->log());
    }

    public function testADryRunOfARuleLetsThrough(): void
    {
        $gate = GatedPool::with(str_replace('2/h', '0/h', self::RULE) . "\ndry_run = true");
        self::assertSame(200, $gate->status('/report'));
        self::assertStringContainsString('would refuse a request: rule report', $gate->log());
    }

    public function testWorkersAndScriptsShareTheCountOfAPolicy(): void
    {
        $gate = GatedPool::with(
            "[limits]\ncore = \"10/h\"\n[[gate.rule]]\nname = \"r\"\nkey = \"ip\"\nlimit = \"core\"",
            workers: 3,
            code: 'echo json_encode((new Sluice\Limiter())->attempt("ip=203.0.113.7", "core", 2)->remaining);',
        );
        $left = array_map(fn () => $gate->get('/')->json(), range(1, 3));
        self::assertSame([7, 4, 1], $left);
    }

    public function testOnRedisItIsTheSameGate(): void
    {
        $redis = RedisServer::start();
        $toml = self::RULE . "\n" . <<<'TOML'
            [[gate.rule]]
            name = "all"
            limit = ["100/h", "5 concurrent"]
            TOML;
        $gate = GatedPool::with($toml, ini: ['sluice.store' => $redis->dsn()]);
        self::assertSame([200, 200, 429], array_map(fn () => $gate->status('/report'), range(1, 3)));
        self::assertSame(200, $gate->status('/'));
        self::assertNotSame([], $redis->command('KEYS', '*report*'));
        self::assertSame([], $redis->command('KEYS', '*c:0:*'), 'a permit was left behind');
    }

    public function testSeventyRulesOnRedisAreAskedAndEachForItself(): void
    {
        $rule = static fn (string $name, string $limit, string $more = ''): string =>
            "[[gate.rule]]\nname = \"{$name}\"\nlimit = \"{$limit}\"\n{$more}\n";
        $between = array_map(static fn (int $number): string => $rule("r{$number}", '100/h'), range(1, 68));
        $toml = $rule('first', '2/h') . implode('', $between) . $rule('last', '1/h', 'dry_run = true');
        $gate = GatedPool::with($toml, ini: ['sluice.store' => RedisServer::start()->dsn()]);
        self::assertSame([200, 200, 429], array_map(fn () => $gate->status('/'), range(1, 3)));
    }

    /** @dataProvider faults */
    public function testAStoreFaultFollowsThePolicy(string $rule, string $ini, int $status): void
    {
        $gate = GatedPool::with(self::RULE . "\n{$rule}", ini: [
            'sluice.store' => 'redis://127.0.0.1:1', 'sluice.on_failure' => $ini,
        ]);
        self::assertSame($status, $gate->status('/report'));
        self::assertSame(200, $gate->status('/other'));
    }

    public static function faults(): iterable
    {
        yield 'allow' => ['', 'allow', 200];
        yield 'deny' => ['', 'deny', 429];
        yield 'local' => ['', 'local', 200];
        yield 'throw' => ['', 'throw', 503];
        yield 'the rule wins' => ['on_failure = "deny"', 'allow', 429];
    }

    /** What only observes refuses nobody, whatever becomes of the store. */
    public function testAStoreFaultRefusesNobodyWhereRulesObserve(): void
    {
        $lenient = "[[gate.rule]]\nname = \"all\"\nlimit = \"9/h\"\non_failure = \"allow\"\n";
        foreach (['deny', 'throw'] as $policy) {
            $ini = ['sluice.store' => 'redis://127.0.0.1:1', 'sluice.on_failure' => $policy];
            $dry = self::RULE . "\ndry_run = true\n";
            self::assertSame(200, GatedPool::with($dry, ini: $ini)->status('/report'), $policy);
            self::assertSame(200, GatedPool::with($dry . $lenient, ini: $ini)->status('/report'), $policy);
            $observing = GatedPool::with(self::RULE, ini: $ini + ['sluice.mode' => 'observe']);
            self::assertSame(200, $observing->status('/report'), $policy);
        }
    }

    /** @dataProvider disguises */
    public function testADisguisedPathIsNoWayAroundARule(string $target, array $params): void
    {
        $gate = GatedPool::with(str_replace('2/h', '0/h', self::RULE));
        self::assertSame(429, $gate->status($target, $params));
    }

    public static function disguises(): iterable
    {
        foreach ([
            '//report', '/report/', '/./report', '/x/../report', '/%72eport', '/x%2F..%2Freport', '/report;a',
            '/report%00', 'http://example.com/report', '//example.com/report', '/index.php/report', '/x/index.php/report', '/report%2e',
        ] as $target) {
            yield $target => [$target, []];
        }
        yield 'PATH_INFO' => ['/index.php', ['PATH_INFO' => '/report']];
        yield 'no REQUEST_URI' => ['/', ['REQUEST_URI' => null, 'PATH_INFO' => '/report']];
    }

    /** What the gate and PHP read differently is a way around a rule. */
    public function testAKeyAndAPathAreThoseThatPhpSees(): void
    {
        $gate = GatedPool::with(<<<'TOML'
            [gate]
            path_parameter = "s"
            [[gate.rule]]
            name = "report"
            path = "/report"
            limit = "0/h"
            [[gate.rule]]
            name = "session"
            path = "/by/cookie"
            key = "cookie:my_sid"
            limit = "1/h"
            [[gate.rule]]
            name = "key"
            path = "/by/query"
            key = "query:my_id"
            limit = "1/h"
            TOML, code: 'echo json_encode([$_COOKIE["my_sid"] ?? null, $_GET["my_id"] ?? null, $_GET["s"] ?? null]);');
        $more = str_repeat('&a', 1000);
        foreach (['?s%00x=/report', '?+s=/report', "?s=/report{$more}&s=/other"] as $query) {
            self::assertSame(429, $gate->status("/{$query}"), $query);
        }
        $cookies = ['my_sid=a+b', 'my.sid=a+b; my_sid=1', 'my[sid=a%2Bb; my_sid=2', "\x0bmy_sid=a+b", 'my_sid%00=3; my_sid=a+b'];
        foreach ($cookies as $number => $cookie) {
            $response = $gate->get('/by/cookie', ['HTTP_COOKIE' => $cookie]);
            self::assertSame($number === 0 ? 200 : 429, $response->status, $cookie);
            self::assertSame('a+b', $gate->get('/by/nothing', ['HTTP_COOKIE' => $cookie])->json()[0]);
        }
        $queries = ['my_id=x', 'my_id=1&my.id=x', 'my_id=2&my[id=x', 'my_id=3&my_id%00y=x', "my_id=x{$more}&my_id=4"];
        foreach ($queries as $number => $query) {
            self::assertSame($number === 0 ? 200 : 429, $gate->status("/by/query?{$query}"), $query);
            self::assertStringContainsString('"x"', $gate->get("/by/nothing?{$query}")->body);
        }
    }

    public function testMissingVariablesAndLongOnesCrashNothing(): void
    {
        $gate = GatedPool::with(self::RULE . "\nhost = \"example.com\"");
        $bare = array_fill_keys(
            ['REQUEST_URI', 'QUERY_STRING', 'SCRIPT_NAME', 'REMOTE_ADDR', 'HTTP_HOST', 'SERVER_PROTOCOL'],
            null,
        );
        self::assertSame(200, $gate->status('/report', $bare));
        // All that php-fpm takes in a record.
        self::assertSame(200, $gate->status('/' . str_repeat('%2e/', 15_000)));
        self::assertSame(200, $gate->status('/', ['HTTP_COOKIE' => str_repeat('a=b; ', 12_000)]));
        self::assertSame(200, $gate->status('/report', ['REMOTE_ADDR' => "\xff"]));
    }
}
