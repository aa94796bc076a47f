<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\PhpResult;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** A bad value in php.ini is a warning that helps, and PHP starts with the default. */
final class BadDirectivesTest extends TestCase
{
    private const DEFAULTS = [
        'sluice.config' => '',
        'sluice.connect_timeout' => '',
        'sluice.headers' => 'ietf,x',
        'sluice.local_share' => '1.0',
        'sluice.mode' => 'enforce',
        'sluice.near' => '1s',
        'sluice.on_failure' => 'local',
        'sluice.prefix' => 'sluice:',
        'sluice.scale' => '1.0',
        'sluice.shm_path' => '',
        'sluice.shm_size' => '32M',
        'sluice.store' => '',
        'sluice.timeout' => '50ms',
        'sluice.timezone' => '',
    ];

    public function testTheDefaults(): void
    {
        self::assertSame(self::DEFAULTS, self::directives(PhpProcess::with())->json());
    }

    /** @dataProvider badValues */
    public function testIsRefusedWithTheNameTheValueAndWhatIsAllowed(
        string $name,
        string $value,
        string $allowed,
        ?string $shown = null,
    ): void {
        $result = self::directives(PhpProcess::with([$name => $value]));
        self::assertSame(0, $result->exitCode);
        self::assertSame(
            "Warning: PHP Startup: {$name} {$allowed}; " . ($shown ?? "\"{$value}\"")
                . " was given and is not used in Unknown on line 0\n",
            $result->stderr,
        );
        self::assertSame(self::DEFAULTS, json_decode($result->stdout, true));
    }

    public static function badValues(): iterable
    {
        $time = 'must be a time from 1ms to 60s, such as 50ms';
        yield 'store' => ['sluice.store', '127.0.0.1:6379', self::notADsn('it has no scheme'), 'a value'];
        yield 'store with a password' => [
            'sluice.store', 'redis://:hunter2@', self::notADsn('it names no host'), 'a value',
        ];
        yield 'prefix' => ['sluice.prefix', "\xff", 'must be UTF-8', 'text that is not UTF-8'];
        yield 'timeout without a unit' => ['sluice.timeout', '500', $time];
        yield 'timeout of nothing' => ['sluice.timeout', '0', $time];
        yield 'timeout that is none' => ['sluice.timeout', 'fast', $time];
        yield 'connect_timeout' => ['sluice.connect_timeout', '2min', $time];
        $near = 'must be a time from 0 to 60s, such as 1s; 0 turns the near state off';
        yield 'near that is none' => ['sluice.near', 'close', $near];
        yield 'near for too long' => ['sluice.near', '61s', $near];
        yield 'near below nothing' => ['sluice.near', '-1s', $near];
        yield 'on_failure' => ['sluice.on_failure', 'open', 'must be one of local, allow, deny, throw'];
        yield 'local_share of nothing' => ['sluice.local_share', '0', 'must be a number above 0, from 0.000001 to 1'];
        yield 'local_share above all' => ['sluice.local_share', '1.5', 'must be a number above 0, from 0.000001 to 1'];
        yield 'mode' => ['sluice.mode', 'dry', 'must be one of enforce, observe, off'];
        yield 'scale of nothing' => ['sluice.scale', '0', 'must be a number above 0, from 0.000001 to 1000'];
        yield 'negative scale' => ['sluice.scale', '-1', 'must be a number above 0, from 0.000001 to 1000'];
        yield 'scale that is none' => ['sluice.scale', 'NAN', 'must be a number above 0, from 0.000001 to 1000'];
        yield 'headers' => ['sluice.headers', 'ietf,all', 'must be a list of ietf and x, or empty'];
        yield 'shm_size too small' => ['sluice.shm_size', '1K', 'must be a size from 64K to 64G, such as 32M'];
        yield 'shm_size too large' => ['sluice.shm_size', '65G', 'must be a size from 64K to 64G, such as 32M'];
        yield 'shm_size that is none' => ['sluice.shm_size', '32MB', 'must be a size from 64K to 64G, such as 32M'];
        yield 'timezone' => [
            'sluice.timezone', 'Mars/Olympus', 'must be an IANA time zone such as Asia/Shanghai, "Mars/Olympus" given',
        ];
        yield 'relative config' => [
            'sluice.config', 'sluice.toml', 'must be an absolute path, such as /etc/php/sluice.toml',
        ];
        yield 'relative shm_path' => ['sluice.shm_path', 'table', 'must be an absolute path, such as /dev/shm/sluice'];
    }

    /** What PHP shows is one thing, what the extension does another. */
    public function testTheDefaultOfARefusedPrefixIsWhatIsUsed(): void
    {
        $server = RedisServer::start();
        $code = '(new Sluice\TokenBucketLimiter($argv[1]))->allow("k", 1, 1);';
        PhpProcess::with(['sluice.prefix' => "\xff"])->code($code, $server->dsn());
        self::assertStringStartsWith('sluice:{', $server->keys()[0]);
    }

    /** @dataProvider badValues */
    public function testIsRefusedWhileItRunsToo(string $name, string $value, string $allowed): void
    {
        if (str_starts_with($name, 'sluice.shm_') || $name === 'sluice.config') {
            // Not changeable there, be it good or bad.
            self::assertFalse(ini_set($name, '64M'));
            return;
        }
        self::assertFalse(@ini_set($name, $value));
        self::assertStringStartsWith("ini_set(): {$name} {$allowed}; ", error_get_last()['message']);
        self::assertStringNotContainsString('hunter2', error_get_last()['message']);
        self::assertSame(self::DEFAULTS[$name], ini_get($name));
    }

    /** `sluice.store = ${REDIS_DSN}`, and nobody has set it. */
    public function testAStoreThatCameOutEmptyIsAStartupWarning(): void
    {
        $result = self::directives(PhpProcess::with()->reading('sluice.store = ${SLUICE_TEST_UNSET}'));
        self::assertSame(0, $result->exitCode);
        self::assertStringContainsString(
            'Warning: PHP Startup: sluice.store is set to nothing, so limits are kept in this host\'s shared memory',
            $result->stderr,
        );
        self::assertSame(self::DEFAULTS, json_decode($result->stdout, true));
    }

    public function testAStoreFromTheEnvironmentIsNone(): void
    {
        $result = self::directives(
            PhpProcess::with()
                ->reading('sluice.store = ${SLUICE_TEST_DSN}')
                ->inEnvironment(['SLUICE_TEST_DSN' => 'redis://127.0.0.1']),
        );
        self::assertSame('redis://127.0.0.1', $result->json()['sluice.store']);
    }

    /** php.ini reads a bare `off` as an empty text. */
    public function testABareOffTurnsLimitsOffAndIsAStartupWarning(): void
    {
        $result = PhpProcess::with()
            ->reading('sluice.mode = off')
            ->code('var_dump(fixed_window_limit("k", 0));');
        self::assertStringContainsString('Warning: PHP Startup: sluice.mode is empty', $result->stderr);
        self::assertSame("bool(true)\n", $result->stdout);
    }

    public function testAQuotedOffIsNone(): void
    {
        $result = PhpProcess::with()
            ->reading('sluice.mode = "off"')
            ->code('var_dump(fixed_window_limit("k", 0));');
        self::assertSame(['', "bool(true)\n"], [$result->stderr, $result->stdout]);
    }

    private static function directives(PhpProcess $process): PhpResult
    {
        return $process->code(<<<'PHP'
            $directives = ini_get_all('sluice', false);
            ksort($directives);
            echo json_encode($directives);
            PHP);
    }

    private static function notADsn(string $reason): string
    {
        return "is not a DSN: {$reason}; a DSN is redis://[user[:password]@]host[:port][/db], unix:///path[?db=n],"
            . ' redis+sentinel://host,host/master[/db] or redis+cluster://host,host, with rediss for TLS, and'
            . ' with @ / ? # % in a user name or password written as %40 %2F %3F %23 %25';
    }
}
