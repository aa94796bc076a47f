<?php

declare(strict_types=1);

namespace Sluice\Tests\Http;

use Psr\Log\AbstractLogger;
use Sluice\Failure;
use Sluice\Http\AllowList;
use Sluice\Http\DenialLog;
use Sluice\Http\Facts;
use Sluice\Http\Guard;
use Sluice\Http\HeaderStyle;
use Sluice\Http\Policies;
use Sluice\Http\Verdict;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\StoreException;
use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\Nginx;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** First the allow list, then all limits at once, then what is written down. */
final class GuardTest extends TestCase
{
    /** @var list<array{string, string, array<string, mixed>}> */
    public array $lines = [];

    public function testTheAllowListIsAskedFirstAndEachPassIsLogged(): void
    {
        Store::fake();
        $allow = new AllowList([1, 'ann'], ['10.0.0.0/8', '::1'], fn (Facts $facts) => $facts->route === 'health');
        $guard = new Guard(allow: $allow, passes: $this->logger());
        $deny = Limit::deny()->by('k');
        $passes = [
            'user 1' => new Facts('203.0.113.9', 'r', '1'),
            'user ann' => new Facts('203.0.113.9', 'r', 'ann'),
            'network 10.0.0.0/8' => new Facts('10.1.2.3', 'r'),
            'network ::1' => new Facts('::1', 'r', 'bob'),
            'callback' => new Facts('203.0.113.9', 'health'),
        ];
        foreach ($passes as $by => $facts) {
            $verdict = $guard->check($facts, $deny);
            self::assertTrue($verdict->allowed);
            self::assertSame([[], null, null], [$verdict->headers(), $verdict->decision, $verdict->retryAfter()]);
            self::assertSame($by, $verdict->passedBy);
            [$level, $message, $context] = end($this->lines);
            self::assertSame(['info', 'Passed the rate limits by the allow list'], [$level, $message]);
            self::assertSame([$by, $facts->ip, $facts->user, $facts->route], array_values($context));
        }
        foreach (['01', null, 'Ann'] as $user) {
            self::assertFalse($guard->check(new Facts('203.0.113.9', 'r', $user), $deny)->allowed);
        }
        self::assertFalse($guard->check(new Facts('junk', 'r'), $deny)->allowed);
        self::assertCount(5, $this->lines);
    }

    public function testAMistakeInTheAllowListIsSaidAtOnce(): void
    {
        $this->expectException(\ValueError::class);
        new AllowList(networks: ['10.0.0.0/40']);
    }

    public function testWithoutALimitAllMayPass(): void
    {
        $verdict = (new Guard())->check(new Facts('::1', 'r'));
        self::assertTrue($verdict->allowed);
        self::assertFalse($verdict->wouldDeny());
        $verdict->release();
        $verdict->send();
    }

    public function testAThousandAccountsFromOneAddressAreStopped(): void
    {
        Store::fake();
        $policies = new Policies(['login' => [
            ['limit' => '5/m', 'by' => 'account:email'],
            ['limit' => '30/m', 'by' => 'ip'],
        ]]);
        $guard = new Guard();
        $passed = 0;
        foreach (range(1, 1000) as $n) {
            $facts = new Facts('203.0.113.9', 'login', input: fn () => "user{$n}@example.com");
            $passed += (int) $guard->check($facts, ...$policies->limits('login', $facts))->allowed;
        }
        self::assertSame(30, $passed);
    }

    public function testADenialIsLoggedOnceAKeyAndInterval(): void
    {
        $store = Store::fake();
        $heard = 0;
        $denials = new DenialLog($this->logger(), 10.0, function () use (&$heard): void {
            $heard++;
        }, new Limiter());
        $guard = new Guard(denials: $denials);
        $ask = fn (string $ip) => $guard->check(new Facts($ip, 'r'), Limit::deny()->by($ip)->named('api'));
        foreach (range(1, 50) as $ignored) {
            $ask('203.0.113.1');
            $ask('203.0.113.2');
        }
        self::assertSame([2, 2], [count($this->lines), $heard]);
        $store->advance(9.9);
        $ask('203.0.113.1');
        self::assertCount(2, $this->lines);
        $store->advance(0.1);
        $ask('203.0.113.1');
        self::assertCount(3, $this->lines);
        self::assertSame(['warning', 'Refused by a rate limit'], array_slice($this->lines[0], 0, 2));
    }

    public function testObserveModeLetsThroughAndLogsAsOften(): void
    {
        Store::fake();
        ini_set('sluice.mode', 'observe');
        $guard = new Guard(denials: new DenialLog($this->logger(), budget: new Limiter()));
        foreach (range(1, 20) as $ignored) {
            $verdict = $guard->check(new Facts('203.0.113.1', 'r'), Limit::slidingWindow(1, 60)->by('k'));
            self::assertTrue($verdict->allowed);
        }
        self::assertTrue($verdict->wouldDeny());
        self::assertSame(['Over the rate limit, let through'], array_column($this->lines, 1));
    }

    public function testALineSaysAllThereIsToKnow(): void
    {
        Store::fake();
        $guard = new Guard(denials: new DenialLog($this->logger(), budget: new Limiter()));
        $facts = new Facts('203.0.113.1', 'GET /items/{id}', '42', 'GET', '/items/7?a=b');
        $limits = [
            Limit::parse('100/h')->by('site')->named('site'),
            Limit::parse('20/s burst 1')->by('user42')->named('user'),
        ];
        $guard->check($facts, ...$limits);
        $guard->check($facts, ...$limits);
        self::assertSame([
            'key' => 'user42', 'user' => '42', 'ip' => '203.0.113.1', 'route' => 'GET /items/{id}', 'remaining' => 0,
            'capacity' => 1, 'rate' => '20/s burst 1', 'uri' => '/items/7?a=b', 'method' => 'GET', 'policy' => 'user',
            'retry_after' => 0.05, 'source' => 'memory',
        ], $this->lines[0][2]);
    }

    /** @dataProvider hostile */
    public function testBytesOfAClientCannotForgeALine(string $bytes, string $logged): void
    {
        Store::fake();
        $guard = new Guard(denials: new DenialLog($this->logger(), budget: new Limiter()));
        $guard->check(new Facts($bytes, $bytes, $bytes, $bytes, $bytes), Limit::deny()->by($bytes));
        $context = $this->lines[0][2];
        foreach (['key', 'user', 'ip', 'route', 'uri', 'method'] as $field) {
            self::assertSame($logged, $context[$field], $field);
        }
        self::assertIsString(json_encode($context, JSON_THROW_ON_ERROR));

        $friends = new Guard(allow: new AllowList([$bytes]), passes: $this->logger());
        self::assertTrue($friends->check(new Facts($bytes, $bytes, $bytes), Limit::deny()->by('k'))->allowed);
        [$by, $ip, $user, $route] = array_values(end($this->lines)[2]);
        self::assertSame([$logged, $logged, $logged], [$ip, $user, $route]);
        self::assertStringStartsWith('user ' . mb_substr($logged, 0, 900), $by);
    }

    public static function hostile(): iterable
    {
        yield 'text' => ['josé 中文 a\b', 'josé 中文 a\b'];
        yield 'a line of its own' => ["a\r\n[critical] b", 'a\r\n[critical] b'];
        yield 'an escape of a terminal' => ["\e[2Ja", '\033[2Ja'];
        yield 'a NUL' => ["a\0b", 'a\000b'];
        yield 'no UTF-8' => ["a\xff", 'a\377'];
        yield 'text turned around' => ["a\u{202e}b", 'a\342\200\256b'];
        yield 'another kind of line' => ["a\u{2028}b", 'a\342\200\250b'];
        yield 'a newline at the end' => ["a\n", 'a\n'];
        yield 'very much' => [str_repeat('ä', 70_000), str_repeat('ä', 1000) . '…'];
    }

    public function testWithRedisGoneThisHostDecidesAndNothingIsThrown(): void
    {
        $guard = new Guard(new Limiter('redis://127.0.0.1:1'), denials: new DenialLog($this->logger()));
        $limit = Limit::slidingWindow(1, 60)->by(self::freshKey());
        $facts = new Facts('203.0.113.1', 'r');
        self::assertTrue($guard->check($facts, $limit)->allowed);
        $verdict = $guard->check($facts, $limit);
        self::assertFalse($verdict->allowed);
        self::assertSame(Source::Fallback, $verdict->decision->source);
        self::assertSame('fallback', $this->lines[0][2]['source']);
        $this->expectException(StoreException::class);
        $guard->check($facts, $limit->onFailure(Failure::Throw));
    }

    public function testPermitsAreReleased(): void
    {
        Store::fake();
        $guard = new Guard();
        $facts = new Facts('::1', 'r');
        $limits = [Limit::concurrency(1)->by('a'), Limit::slidingWindow(9, 60)->by('b')];
        $held = $guard->check($facts, ...$limits);
        self::assertTrue($held->holdsPermits());
        $refused = $guard->check($facts, ...$limits);
        self::assertFalse($refused->allowed || $refused->holdsPermits());
        $held->release();
        self::assertTrue($guard->check($facts, ...$limits)->allowed);
    }

    public function testAProblemNamesWhatRefused(): void
    {
        Store::fake();
        $guard = new Guard();
        $ask = fn (): Verdict => $guard->check(
            new Facts('::1', 'r'),
            Limit::slidingWindow(1, 60)->by('a')->named('minute'),
            Limit::slidingWindow(9, 3600)->by('a')->named('hour'),
            Limit::fixedWindow(1, 30)->by('a'),
        );
        $ask();
        self::assertSame([
            'type' => 'https://iana.org/assignments/http-problem-types#quota-exceeded',
            'title' => 'Too Many Requests',
            'status' => 429,
            'retryAfter' => 60,
            'violated-policies' => ['minute', 'default'],
        ], $ask()->problem());
        $never = $guard->check(new Facts('::1', 'r'), Limit::deny()->by('a'));
        self::assertArrayNotHasKey('retryAfter', $never->problem());
    }

    public function testEachStyleOfHeaders(): void
    {
        Store::fake();
        $verdict = null;
        foreach (range(1, 2) as $ignored) {
            $verdict = (new Guard())->check(new Facts('::1', 'r'), Limit::fixedWindow(1, 60)->by('a'));
        }
        self::assertSame(
            ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'Retry-After', 'X-RateLimit-Reset'],
            array_keys($verdict->headers(HeaderStyle::Laravel)),
        );
        self::assertSame(
            ['X-Rate-Limit-Limit', 'X-Rate-Limit-Remaining', 'X-Rate-Limit-Reset', 'Retry-After'],
            array_keys($verdict->headers(HeaderStyle::Think)),
        );
        self::assertSame('60', $verdict->headers()['Retry-After']);
        self::assertSame([], $verdict->headers(HeaderStyle::None));
        $free = (new Guard())->check(new Facts('::1', 'r'), Limit::none()->by('a'));
        self::assertSame([], $free->headers(HeaderStyle::Laravel));
    }

    public function testPlainPhpBehindNginxLogsOnceOverAllWorkers(): void
    {
        $journal = TempDir::make()->write('journal', '');
        $pool = FpmPool::start(4, ['error_log' => $journal]);
        $nginx = Nginx::before($pool, dirname(__DIR__) . '/Apps/plain/index.php');
        $answers = array_map(fn () => $nginx->get('/anything'), range(1, 30));
        self::assertSame(array_merge([200, 200], array_fill(0, 28, 429)), array_column($answers, 'status'));
        self::assertSame(['served', 'served'], array_column(array_slice($answers, 0, 2), 'body'));
        self::assertSame('application/problem+json', $answers[29]->headers['content-type']);
        $refused = array_column(array_map(fn ($answer) => $answer->headers, array_slice($answers, 2)), 'x-worker');
        self::assertGreaterThan(1, count(array_unique($refused)), 'one worker took all');
        self::assertSame(1, substr_count(file_get_contents($journal), 'Refused by a rate limit'));
    }

    public function testWithoutTheExtensionItIsSaidAloudAndNeverInProduction(): void
    {
        $check = fn (string $arguments) => PhpProcess::withoutTheExtension()->code(
            'require ' . var_export(dirname(__DIR__) . '/autoload.php', true) . ";\n"
            . "try { var_dump(Sluice\\Extension::limits({$arguments})); Sluice\\Extension::limits({$arguments}); }"
            . ' catch (RuntimeException $refused) { echo $refused->getMessage(); }',
        );
        $laptop = $check('letThrough: true, production: false');
        self::assertStringContainsString('bool(false)', $laptop->stdout);
        self::assertSame(1, substr_count($laptop->stderr, 'NOTHING IS LIMITED'));
        self::assertStringContainsString('In production', $check('letThrough: true, production: true')->stdout);
        self::assertStringContainsString('without_extension', $check('letThrough: false, production: false')->stdout);
        self::assertTrue(\Sluice\Extension::limits(false, true));
    }

    private function logger(): AbstractLogger
    {
        return new class ($this) extends AbstractLogger {
            public function __construct(private GuardTest $test)
            {
            }

            public function log($level, $message, array $context = []): void
            {
                $this->test->lines[] = [$level, $message, $context];
            }
        };
    }
}
