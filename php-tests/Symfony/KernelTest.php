<?php

declare(strict_types=1);

namespace Sluice\Tests\Symfony;

use Sluice\Tests\Support\Checkout;
use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\WebServer;

/**
 * A booted kernel over HTTP: 5.4 of Debian, and another by SYMFONY_DIR. The
 * application asks for limiters as Symfony's documentation has it.
 */
final class KernelTest extends TestCase
{
    private WebServer $web;

    public static function kernels(): iterable
    {
        yield 'Symfony 5.4' => [''];
        yield 'SYMFONY_DIR' => ['SYMFONY_DIR'];
    }

    /** @dataProvider kernels */
    public function testOneLineAndAllPoliciesRunOnTheEngine(string $variable): void
    {
        $redis = RedisServer::start();
        if (!$this->serve($variable, ['STORE' => $redis->dsn()])) {
            return;
        }
        foreach (['fixed', 'sliding', 'bucket'] as $policy) {
            foreach ([2, 1, 0] as $left) {
                $served = $this->web->get("/page/{$policy}");
                self::assertSame([200, [$left, 3]], [$served->status, $served->json()], $policy);
            }
            $refused = $this->web->get("/page/{$policy}");
            self::assertSame(429, $refused->status, $policy);
            self::assertEqualsWithDelta(3600, (int) $refused->headers['retry-after'], 20, $policy);
            self::assertSame('0', $refused->headers['x-ratelimit-remaining']);
            self::assertStringContainsString("\"{$policy}\"", $refused->headers['ratelimit-policy']);
            self::assertSame([true, 0, 3], $this->web->get("/look/{$policy}")->json());
            self::assertSame(200, $this->web->get("/page/{$policy}", ['X-Forwarded-For' => '203.0.113.7'])->status);
            $this->web->get("/reset/{$policy}");
            self::assertSame([true, 3, 3], $this->web->get("/look/{$policy}")->json());
        }
        self::assertSame(200, $this->web->get('/page/free')->status);
        self::assertGreaterThan(0, $redis->callsOf('evalsha'));
    }

    /** @dataProvider kernels */
    public function testACompoundChargesAllOrNone(string $variable): void
    {
        if (!$this->serve($variable)) {
            return;
        }
        foreach (range(1, 3) as $ignored) {
            $this->web->get('/page/fixed');
        }
        self::assertSame(429, $this->web->get('/page/compound')->status);
        self::assertSame([true, 3, 3], $this->web->get('/look/bucket')->json());
    }

    /** @dataProvider kernels */
    public function testWithRedisGoneThereIsNo500(string $variable): void
    {
        if (!$this->serve($variable, ['STORE' => 'redis://127.0.0.1:1'])) {
            return;
        }
        self::assertSame([200, 200, 200, 429], array_map(fn () => $this->web->get('/page/fixed')->status, range(1, 4)));
    }

    /** @dataProvider kernels */
    public function testWithoutTheLineItIsSymfonysOwnAndAnswersAlike(string $variable): void
    {
        if (!$this->serve($variable)) {
            return;
        }
        $ours = $this->scenario();
        $this->serve($variable, ['SLUICE' => '']);
        self::assertSame($this->scenario(), $ours);
    }

    /** @dataProvider kernels */
    public function testLoginThrottlingStopsAnAccountAndAnAddress(string $variable): void
    {
        if (!$this->serveLogins($variable)) {
            return;
        }
        self::assertSame([401, 401, 401, 401], array_map(fn () => $this->login('ann', 'wrong')->status, range(1, 4)));
        $stopped = $this->login('ann', 'right');
        self::assertSame(401, $stopped->status, 'the right password comes too late');
        self::assertStringContainsString('Too many failed login attempts', $stopped->body);
        self::assertSame(200, $this->login('ANN', 'right', '203.0.113.7')->status, 'from elsewhere');
        self::assertSame(200, $this->login('bob', 'right')->status, 'another account');
    }

    /** @dataProvider kernels */
    public function testWhoHasAnAccountCannotTryAllOthersFromOneAddress(string $variable): void
    {
        if (!$this->serveLogins($variable)) {
            return;
        }
        $tried = 0;
        foreach (range(1, 40) as $n) {
            $answer = $this->login("victim{$n}", 'guess');
            if (str_contains($answer->body, 'Too many failed')) {
                break;
            }
            $tried++;
            $this->login('bob', 'right');
        }
        self::assertSame(5 * 3, $tried);
    }

    public function testWithoutTheExtensionALaptopLetsThroughAndProductionDoesNotStart(): void
    {
        $php = fn () => PhpProcess::withoutTheExtension()->loading('ctype', 'mbstring', 'tokenizer');
        $ask = fn (string $environment, string $laptop) => $php()->inEnvironment([
            'VAR' => TempDir::make()->path, 'SLUICE' => '1', 'STORE' => '', 'SYMFONY_DIR' => '',
            'APP_ENV' => $environment, 'LAPTOP' => $laptop,
        ])->code(sprintf(
            'error_reporting(E_ALL & ~E_DEPRECATED); $_SERVER["REQUEST_URI"] = $argv[1]; require %s;',
            var_export(dirname(__DIR__) . '/Apps/symfony/index.php', true),
        ), '/page/fixed');
        $laptop = $ask('dev', '1');
        self::assertSame('[' . PHP_INT_MAX . ',' . PHP_INT_MAX . ']', $laptop->stdout, $laptop->stderr);
        self::assertStringContainsString('NOTHING IS LIMITED', $laptop->stderr);
        self::assertStringContainsString('see "without_extension"', $ask('dev', '')->stdout);
        self::assertStringContainsString('In production', $ask('prod', '1')->stdout);
    }

    public function testWithoutTheExtensionALaptopCanLogIn(): void
    {
        $result = PhpProcess::withoutTheExtension()->loading('ctype', 'mbstring', 'tokenizer')->code(sprintf(
            'require %s; require "/usr/share/php/Symfony/Component/RateLimiter/autoload.php";'
            . 'require "/usr/share/php/Symfony/Component/HttpFoundation/autoload.php"; error_reporting(E_ALL & ~E_DEPRECATED);'
            . '$window = ["id" => "login", "policy" => "fixed_window", "limit" => 1, "interval" => "1 minute"];'
            . '$factory = new Sluice\Symfony\LimiterFactory($window, fn () => throw new LogicException("asked"));'
            . '$limiter = new Sluice\Symfony\LoginLimiter($factory, $factory);'
            . '$request = Symfony\Component\HttpFoundation\Request::create("/login");'
            . '$passed = [$limiter->consume($request)->isAccepted(), $limiter->consume($request)->isAccepted()];'
            . '$limiter->reset($request); echo json_encode($passed);',
            var_export(dirname(__DIR__) . '/autoload.php', true),
        ));
        self::assertSame('[true,true]', $result->stdout, $result->stderr);
    }

    /** @return list<array{string, string, int, mixed}> */
    private function scenario(): array
    {
        $answers = [];
        foreach (['fixed', 'sliding', 'bucket', 'free'] as $policy) {
            foreach (['page/%s', 'page/%s?tokens=2', 'look/%s', 'reset/%s', 'page/%s'] as $path) {
                $answer = $this->web->get('/' . sprintf($path, $policy));
                $answers[] = [$policy, $path, $answer->status, $answer->json()];
            }
        }
        return $answers;
    }

    private function serveLogins(string $variable): bool
    {
        if (!$this->serve($variable)) {
            return false;
        }
        if ($this->web->get('/security')->json() === false) {
            fwrite(STDERR, "\nNot run: login throttling, for {$variable} has no SecurityBundle.\n");
            $this->expectNotToPerformAssertions();
            return false;
        }
        return true;
    }

    private function login(string $name, string $password, string $from = '192.0.2.1'): HttpResponse
    {
        $body = json_encode(['username' => $name, 'password' => $password]);
        $headers = ['Content-Type' => 'application/json', 'X-Forwarded-For' => $from];
        return $this->web->send('POST', '/login', $headers, $body);
    }

    /** @param array<string, string> $environment */
    private function serve(string $variable, array $environment = []): bool
    {
        if ($variable !== '') {
            $directory = Checkout::of($variable, 'the bundle on a newer Symfony: a directory with vendor/autoload.php');
            if ($directory === null) {
                $this->expectNotToPerformAssertions();
                return false;
            }
        }
        $this->web = WebServer::start(
            dirname(__DIR__) . '/Apps/symfony/index.php',
            environment: $environment + [
                'VAR' => TempDir::make()->path, 'SLUICE' => '1', 'STORE' => '', 'SYMFONY_DIR' => $directory ?? '',
            ],
        );
        return true;
    }
}
