<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\FpmPool;
use Sluice\Tests\Support\Nginx;
use Sluice\Tests\Support\TestCase;

/** The whole way: a client, nginx, php-fpm, and a page that limits. */
final class NginxTest extends TestCase
{
    public function testAClientGetsItsPageUntilItsLimitAndThenA429(): void
    {
        $pool = FpmPool::start(2);
        $nginx = Nginx::before($pool, $pool->script('page.php', <<<'PHP'
            $decision = (new Sluice\FixedWindowLimiter())->attempt("page:{$_GET['user']}", 2, 3600);
            $decision->send();
            echo $decision->allowed ? 'the page' : '';
            PHP));

        foreach (['1', '0'] as $left) {
            $response = $nginx->get('/?user=alice');
            self::assertSame([200, 'the page'], [$response->status, $response->body]);
            self::assertSame($left, $response->headers['x-ratelimit-remaining']);
        }
        $response = $nginx->get('/?user=alice');
        self::assertSame(429, $response->status);
        self::assertSame('3600', $response->headers['retry-after']);
        self::assertSame('application/problem+json', $response->headers['content-type']);
        self::assertSame(429, $response->json()['status']);

        self::assertSame(200, $nginx->get('/?user=bob')->status);
    }
}
