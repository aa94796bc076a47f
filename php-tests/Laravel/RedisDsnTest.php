<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Laravel\RedisDsn;
use Sluice\Limiter;
use Sluice\Tests\Support\TestCase;

/** The words of config/database.php as a DSN. */
final class RedisDsnTest extends TestCase
{
    public static function setUpBeforeClass(): void
    {
        require_once '/usr/share/php/Illuminate/Support/autoload.php';
    }

    /**
     * @dataProvider connections
     * @param array<string, mixed> $connection
     * @param array<string, mixed> $options
     */
    public function testReadsAConnection(array $connection, string $dsn, array $options = []): void
    {
        self::assertSame($dsn, RedisDsn::of('x', ['client' => 'phpredis', 'options' => $options, 'x' => $connection]));
        // The files of TLS are looked at when the store is made, and there are none.
        if (preg_match('/[?&](ca|cert)=/', $dsn) !== 1) {
            new Limiter($dsn);
        }
    }

    public static function connections(): iterable
    {
        yield 'host and port' => [['host' => '10.0.0.5', 'port' => '6380', 'database' => '2'], 'redis://10.0.0.5:6380/2'];
        yield 'nothing' => [[], 'redis://127.0.0.1:6379/0'];
        yield 'a password' => [['host' => 'h', 'password' => 'a@b/c?d#e%'], 'redis://:a%40b%2Fc%3Fd%23e%25@h:6379/0'];
        yield 'a user' => [['host' => 'h', 'username' => 'u:1', 'password' => 'p'], 'redis://u%3A1:p@h:6379/0'];
        yield 'empty login' => [['host' => 'h', 'username' => '', 'password' => ''], 'redis://h:6379/0'];
        yield 'a list as password' => [['host' => 'h', 'password' => ['u', 'p']], 'redis://u:p@h:6379/0'];
        yield 'a list with a password only' => [['host' => 'h', 'password' => ['p']], 'redis://:p@h:6379/0'];
        yield 'IPv6' => [['host' => '::1'], 'redis://[::1]:6379/0'];
        yield 'a URL' => [['url' => 'redis://u:p%40@h:7000/5', 'host' => 'other'], 'redis://u:p%40@h:7000/5'];
        yield 'a URL with TLS' => [['url' => 'rediss://h:7000'], 'rediss://h:7000/0'];
        yield 'TLS' => [['host' => 'h', 'scheme' => 'tls'], 'rediss://h:6379/0'];
        yield 'TLS in the host' => [['host' => 'tls://h'], 'rediss://h:6379/0'];
        yield 'TLS with files' => [
            ['host' => 'h', 'scheme' => 'tls', 'context' => ['stream' => ['cafile' => '/ca.pem', 'peer_name' => 'cache']]],
            'rediss://h:6379/0?ca=%2Fca.pem&server_name=cache',
        ];
        yield 'TLS without looking' => [
            ['host' => 'h', 'scheme' => 'tls', 'ssl' => ['verify_peer' => false, 'local_cert' => '/c', 'local_pk' => '/k']],
            'rediss://h:6379/0?cert=%2Fc&key=%2Fk&verify=no',
        ];
        yield 'a socket of phpredis' => [['host' => '/run/redis.sock', 'port' => 0], 'unix:///run/redis.sock?db=0'];
        yield 'the same with a scheme' => [['host' => 'unix:///run/redis.sock', 'port' => -1], 'unix:///run/redis.sock?db=0'];
        yield 'a socket of predis' => [
            ['scheme' => 'unix', 'path' => '/run/a b.sock', 'password' => 'p&', 'database' => 1],
            'unix:///run/a%20b.sock?db=1&password=p%26',
        ];
        yield 'a prefix' => [['host' => 'h'], 'redis://h:6379/0?prefix=app%3Asluice%3A', ['prefix' => 'app:']];
        yield 'a prefix of its own' => [
            ['host' => 'h', 'options' => ['prefix' => 'mine_']],
            'redis://h:6379/0?prefix=mine_sluice%3A',
            ['prefix' => 'app:'],
        ];
    }

    public function testWhatIsNoConnectionSaysWhatThereIs(): void
    {
        $redis = ['client' => 'phpredis', 'options' => [], 'default' => [], 'cache' => [], 'clusters' => ['options' => []]];
        foreach (['nope', 'client', 'options', 'clusters'] as $name) {
            try {
                RedisDsn::of($name, $redis);
                self::fail($name);
            } catch (\InvalidArgumentException $error) {
                self::assertStringContainsString("no Redis connection \"{$name}\"", $error->getMessage());
                self::assertStringEndsWith('or one of: default, cache', $error->getMessage());
            }
        }
    }

    public function testReadsACluster(): void
    {
        $redis = static fn (array $nodes): array => ['options' => ['prefix' => 'app_'], 'clusters' => ['big' => $nodes]];
        self::assertSame('redis+cluster://n1:7000,[::1]:7001?prefix=app_sluice%3A', RedisDsn::of('big', $redis([
            ['host' => 'n1', 'port' => 7000, 'database' => 0],
            ['host' => '::1', 'port' => 7001],
        ])));
        new Limiter('redis+cluster://n1:7000,[::1]:7001?prefix=app_sluice%3A');
        self::assertSame('rediss+cluster://u:p@n1:7000?prefix=app_sluice%3A&ca=%2Fca', RedisDsn::of('big', $redis([
            ['url' => 'rediss://u:p@n1:7000', 'context' => ['ssl' => ['cafile' => '/ca']]],
        ])));
    }
}
