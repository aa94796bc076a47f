<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** A fork shares the memory of its parent, and never its connection. */
final class ForkTest extends TestCase
{
    public function testParentAndChildAskRedisOnConnectionsOfTheirOwn(): void
    {
        $server = RedisServer::start();
        $server->resetStatistics();
        // Both at once: on one socket they would read each other's replies.
        $parent = PhpProcess::with()->code(<<<'PHP'
            $limiter = new Sluice\FixedWindowLimiter($argv[1]);
            $limiter->allow('before', 1, 3600);
            $child = pcntl_fork();
            for ($call = 0; $call < 500; $call++) {
                $decision = $limiter->attempt($child === 0 ? 'child' : 'parent', 500, 3600);
                if ($decision->source !== Sluice\Source::Redis || $decision->remaining !== 499 - $call) {
                    exit(1);
                }
            }
            if ($child !== 0) {
                pcntl_waitpid($child, $status);
                // The child's end closed its connection, not this one.
                $last = $limiter->attempt('after', 1, 3600);
                echo json_encode([pcntl_wexitstatus($status), $last->source]);
            }
            PHP, $server->dsn());
        self::assertSame([0, 'redis'], $parent->json());
        self::assertSame(2, $server->statistic('stats', 'total_connections_received'));
    }

    public function testParentAndChildCountTogetherInSharedMemory(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            $limiter = new Sluice\FixedWindowLimiter();
            $limiter->allow('k', 3, 3600);
            if (pcntl_fork() === 0) {
                exit($limiter->allow('k', 3, 3600) ? 0 : 1);
            }
            pcntl_wait($status);
            echo json_encode([pcntl_wexitstatus($status), $limiter->attempt('k', 3, 3600)->remaining]);
            PHP);
        self::assertSame([0, 0], $seen->json());
    }

    public function testAFakeIsNotSharedWithAChild(): void
    {
        $seen = PhpProcess::with()->code(<<<'PHP'
            $store = Sluice\Store::fake();
            $limiter = new Sluice\FixedWindowLimiter();
            if (pcntl_fork() === 0) {
                $limiter->allow('k', 1, 3600);
                $store->advance(60);
                exit;
            }
            pcntl_wait($status);
            echo json_encode($limiter->attempt('k', 1, 3600)->allowed);
            PHP);
        self::assertTrue($seen->json());
    }
}
