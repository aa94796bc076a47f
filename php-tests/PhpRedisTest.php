<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** A connected `\Redis` object says where to go; its socket stays its own. */
final class PhpRedisTest extends TestCase
{
    private const WORKED = [
        'source' => 'redis',
        'remaining' => 4,
        'replies' => [true],
        'still connected' => true,
    ];

    public function testOnAPort(): void
    {
        $server = RedisServer::startOnPort();
        self::assertSame(self::WORKED, $this->decideBy('127.0.0.1', $server->port()));
    }

    public function testOnAUnixSocket(): void
    {
        $server = RedisServer::start();
        self::assertSame(self::WORKED, $this->decideBy($server->socket(), 0));
    }

    public function testWithAPassword(): void
    {
        $server = RedisServer::startOnPort(password: 'hunter2');
        self::assertSame(self::WORKED, $this->decideBy('127.0.0.1', $server->port(), auth: 'hunter2'));
    }

    public function testWithAPasswordInAList(): void
    {
        $server = RedisServer::startOnPort(password: 'hunter2');
        self::assertSame(self::WORKED, $this->decideBy('127.0.0.1', $server->port(), auth: ['hunter2']));
    }

    public function testWithAUserAndAPassword(): void
    {
        $server = RedisServer::startOnPort();
        $server->command('ACL', 'SETUSER', 'app', 'on', '>hunter2', '+@all', '~*');
        $server->command('ACL', 'SETUSER', 'default', 'off', '-@all');
        self::assertSame(self::WORKED, $this->decideBy('127.0.0.1', $server->port(), auth: ['app', 'hunter2']));
    }

    public function testItsDatabaseAndPrefixAreTakenOver(): void
    {
        $server = RedisServer::start();
        self::assertSame(self::WORKED, $this->decideBy($server->socket(), 0, database: 3, prefix: 'shop:'));
        self::assertSame([], $server->keys());
        $server->command('SELECT', 3);
        [$ours, $theirs] = $server->keys();
        self::assertStringStartsWith('shop:sluice:{', $ours);
        self::assertSame('shop:theirs', $theirs);
    }

    /** @dataProvider whatTellsNothing */
    public function testAnObjectThatDoesNotTellIsRefused(string $code, string $reason): void
    {
        $server = RedisServer::start();
        $result = PhpProcess::with()->loadingRedis()->code(<<<PHP
            \$redis = new Redis();
            {$code}
            try {
                new Sluice\FixedWindowLimiter(\$redis);
            } catch (Sluice\ConfigException \$exception) {
                echo \$exception->getMessage();
            }
            PHP, $server->socket());
        self::assertSame('', $result->stderr);
        self::assertSame(
            'Sluice\FixedWindowLimiter::__construct(): Argument #1 ($store) must be a connected Redis object,'
                . " and this one {$reason}; connect it first, or pass a DSN",
            $result->stdout,
        );
    }

    public static function whatTellsNothing(): iterable
    {
        yield 'never connected' => ['', 'is not connected'];
        yield 'failed to connect' => [
            'try { $redis->connect("$argv[1].not"); } catch (RedisException) {}',
            'is not connected',
        ];
    }

    public function testAClientOfManyServersIsToldWhatToPassInstead(): void
    {
        $result = PhpProcess::with()->loadingRedis()->code(<<<'PHP'
            foreach (['RedisCluster', 'RedisSentinel', 'RedisArray'] as $class) {
                try {
                    new Sluice\TokenBucketLimiter((new ReflectionClass($class))->newInstanceWithoutConstructor());
                } catch (Sluice\ConfigException $error) {
                    echo $error->getMessage(), "\n";
                }
            }
            PHP);
        self::assertStringContainsString('RedisCluster given', $result->stdout);
        self::assertStringContainsString('pass redis+cluster://host,host', $result->stdout);
        self::assertStringContainsString('pass redis+sentinel://host,host/master', $result->stdout);
        self::assertSame(3, substr_count($result->stdout, "\n"));
    }

    private function decideBy(
        string $host,
        int $port,
        string|array|null $auth = null,
        int $database = 0,
        string $prefix = '',
    ): array {
        return PhpProcess::with(['sluice.timeout' => '10s'])
            ->loadingRedis()
            ->fixture('phpredis.php', $host, (string) $port, json_encode($auth), (string) $database, $prefix)
            ->json();
    }
}
