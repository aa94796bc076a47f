<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\LaravelApp;
use Sluice\Tests\Support\TestCase;

/** The `RateLimiter` facade says the same with Laravel's own and with the drop-in. */
final class DropInRateLimiterTest extends TestCase
{
    public function testTheFacadeSaysTheSame(): void
    {
        $script = substr((string) file_get_contents(dirname(__DIR__) . '/Fixtures/laravel-rate-limiter.php'), 5);
        $script = str_replace('declare(strict_types=1);', '', $script);
        $said = [];
        foreach ([false, true] as $dropIn) {
            $app = LaravelApp::make(['SLUICE_DROP_IN' => $dropIn, 'CACHE_DRIVER' => 'array']);
            $said[] = $app->code($script)->json();
        }
        $this->assertSame($said[0], $said[1]);
        $this->assertTrue($said[1]['beyond the limit'][2]);
    }
}
