<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\ConfigException;
use Sluice\Limiter;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** TLS as PHP code meets it: files that are wrong, and doing without proof. */
final class TlsTest extends TestCase
{
    public function testAServerThatIsBelieved(): void
    {
        [$dir, $server, $port] = self::secured();
        foreach (['localhost', '127.0.0.1'] as $host) {
            $store = Store::redis("rediss://{$host}:{$port}?timeout=10s", ['ca' => $dir->file('server.pem')]);
            self::assertSame(Source::Redis, (new Limiter($store))->attempt('k', '10/m')->source);
        }
        $strangers = Store::redis("rediss://localhost:{$port}?timeout=10s");
        self::assertSame(Source::Fallback, (new Limiter($strangers))->attempt('k', '10/m')->source);
        self::assertStringContainsString('no TLS', $strangers->status()['redis']['lastFault']);
        self::assertSame(2, $server->callsOf('evalsha'));
    }

    public function testFilesThatAreWrongAreAMistakeAtOnce(): void
    {
        foreach (['ca' => '/nowhere/ca.pem', 'key' => '/nowhere/client.key', 'cert' => __FILE__] as $option => $file) {
            try {
                Store::redis('rediss://localhost', [$option => $file]);
                self::fail("{$option} was taken");
            } catch (ConfigException $exception) {
                self::assertStringContainsString('its TLS cannot work', $exception->getMessage());
            }
        }
        $this->expectException(ConfigException::class);
        $this->expectExceptionMessage('/nowhere/ca.pem');
        new Limiter('rediss://localhost?ca=/nowhere/ca.pem');
    }

    public function testDoingWithoutProofIsSaidInTheLogOnce(): void
    {
        [, , $port] = self::secured();
        $dsn = "rediss://:hunter2@localhost:{$port}?verify=no&timeout=10s";
        $result = PhpProcess::with()->code(
            "foreach ([1, 2, 3] as \$_) {
                 (new Sluice\\Limiter('{$dsn}'))->allow('k', '10/m');
             }
             echo Sluice\\Store::redis('{$dsn}')->status()['redis']['dsn'];",
        );
        self::assertSame("rediss://:***@localhost:{$port}/0?verify=no", $result->stdout);
        self::assertSame(1, substr_count($result->stderr, 'nobody looks at the server\'s certificate'));
        self::assertStringNotContainsString('hunter2', $result->stderr);
    }

    public function testAConnectionIsSmallAndKept(): void
    {
        [$dir, $server, $port] = self::secured();
        $dsn = "rediss://localhost:{$port}?timeout=10s&ca={$dir->file('server.pem')}";
        $private = <<<'PHP'
            $private = fn() => array_sum(array_map(
                fn($line) => (int) substr($line, 14),
                preg_grep('/^Private_Dirty/', file('/proc/self/smaps')),
            ));
            PHP;
        $result = PhpProcess::with()->code(
            "{$private}
             \$before = \$private();
             foreach (range(1, 1000) as \$_) {
                 (new Sluice\\Limiter('{$dsn}'))->allow('k', '2000/m');
             }
             echo json_encode([
                 'kilobytes' => \$private() - \$before,
                 'redis' => Sluice\\Store::redis('{$dsn}')->status()['redis'],
             ]);",
        )->json();
        self::assertSame([1, 1000, 0], [
            $result['redis']['connections'],
            $result['redis']['calls'],
            $result['redis']['faults'],
        ]);
        self::assertLessThan(2048, $result['kilobytes']);
    }

    /** @return array{TempDir, RedisServer, int} a server with a certificate that it signed itself */
    private static function secured(): array
    {
        $dir = TempDir::make();
        $config = $dir->write('openssl.cnf', <<<'CONFIG'
            [req]
            distinguished_name = dn
            x509_extensions = server
            prompt = no
            [dn]
            CN = localhost
            [server]
            subjectAltName = DNS:localhost, IP:127.0.0.1
            basicConstraints = critical, CA:FALSE
            CONFIG);
        $key = openssl_pkey_new(['private_key_type' => OPENSSL_KEYTYPE_EC, 'curve_name' => 'prime256v1']);
        $options = ['config' => $config, 'digest_alg' => 'sha256'];
        $request = openssl_csr_new([], $key, $options);
        openssl_x509_export_to_file(openssl_csr_sign($request, null, $key, 1, $options), $dir->file('server.pem'));
        openssl_pkey_export_to_file($key, $dir->file('server.key'));
        $port = RedisServer::freePort();
        $server = RedisServer::start(options: [
            '--tls-port', (string) $port,
            '--tls-cert-file', $dir->file('server.pem'),
            '--tls-key-file', $dir->file('server.key'),
            '--tls-ca-cert-file', $dir->file('server.pem'),
            '--tls-auth-clients', 'no',
        ]);
        return [$dir, $server, $port];
    }
}
