<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\PhpResult;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\TestCase;

/** A script that opcache preloads may use the extension like any other. */
final class PreloadTest extends TestCase
{
    public function testAShortNameUsedThereWorksThereAndLater(): void
    {
        $result = self::preloading(
            <<<'PHP'
                fixed_window_limit('k', 5, 60);
                (new TokenBucketLimiter())->allow('k', 5, 1);
                class Service
                {
                    public function limiter(?TokenBucketLimiter $limiter = null): TokenBucketLimiter
                    {
                        return $limiter ?? new TokenBucketLimiter();
                    }
                }
                PHP,
            'echo json_encode(get_class((new Service())->limiter(new TokenBucketLimiter())));',
        );
        self::assertSame('Sluice\TokenBucketLimiter', $result->json());
    }

    public function testAShortNameUsedThereIsStillFreeForTheApplication(): void
    {
        $result = self::preloading(
            'class_exists("TokenBucketLimiter");',
            'class TokenBucketLimiter {} echo json_encode(get_class(new TokenBucketLimiter()));',
        );
        self::assertSame('TokenBucketLimiter', $result->json());
    }

    public function testAConnectionOpenedThereIsGoodLater(): void
    {
        $dsn = RedisServer::startOnPort()->tcpDsn();
        $result = self::preloading(
            "(new Sluice\\TokenBucketLimiter('{$dsn}'))->allow('k', 5, 1 / 3600);",
            "echo json_encode((new Sluice\\TokenBucketLimiter('{$dsn}'))->attempt('k', 5, 1 / 3600)->toArray());",
        );
        self::assertSame(['redis', 3], [$result->json()['source'], $result->json()['remaining']]);
    }

    private static function preloading(string $preloaded, string $code): PhpResult
    {
        $ini = ['opcache.preload' => TempDir::make()->write('preload.php', "<?php\n{$preloaded}")];
        if (posix_geteuid() === 0) {
            // PHP does not preload as root.
            $ini['opcache.preload_user'] = 'nobody';
        }
        return PhpProcess::with($ini)->caching()->code($code);
    }
}
