<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\LaravelApp;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;

/** The job middleware do the same with Laravel's own rate limiter and with the drop-in. */
final class DropInJobsTest extends TestCase
{
    public function testJobsAreReleasedAlike(): void
    {
        $theirs = self::jobs(['SLUICE_DROP_IN' => false], '$redis = false;');
        $ours = self::jobs(['SLUICE_DROP_IN' => true], '$redis = false;');

        $this->assertSame(['released', 63], $ours['a named limiter'][2][0]);
        // On purpose: Laravel 8 to 13 charge the first limit though the second refuses.
        $this->assertSame($theirs['the second of two refuses'], $ours['the second of two refuses']);
        $this->assertSame($theirs, $ours);
    }

    public function testThoseForRedisAreReleasedAlikeAndAskNoRedis(): void
    {
        $server = RedisServer::startOnPort();
        $redis = ['REDIS_PORT' => $server->port()];
        $theirs = self::jobs($redis + ['SLUICE_DROP_IN' => false], '$redis = true;');
        $this->assertNotSame([], $server->keys());
        $server->command('FLUSHALL');
        $ours = self::jobs($redis + ['SLUICE_DROP_IN' => true], '$redis = true;');

        $this->assertSame($theirs, $ours);
        $this->assertSame([], $server->keys());
    }

    /**
     * @param array<string, string|int|bool> $env
     * @return array<string, mixed> what became of them
     */
    private static function jobs(array $env, string $before): array
    {
        $script = substr((string) file_get_contents(dirname(__DIR__) . '/Fixtures/laravel-jobs.php'), 5);
        $script = str_replace('declare(strict_types=1);', $before, $script);
        return self::rounded(LaravelApp::make($env + ['CACHE_DRIVER' => 'array'])->code($script)->json());
    }

    /** Delays to the next ten seconds and three: a second may have begun. */
    private static function rounded(mixed $said): mixed
    {
        if (is_array($said) && isset($said['released'])) {
            return ['released', $said['released'] === 0 ? 0 : (int) ceil(($said['released'] - 3) / 10) * 10 + 3];
        }
        return is_array($said) ? array_map(self::rounded(...), $said) : $said;
    }
}
