<?php

declare(strict_types=1);

namespace Sluice\Think;

use Sluice\RateLimiter;
use Sluice\Think\Command\Reset;
use Sluice\Think\Command\Routes;
use Sluice\Think\Command\Why;
use think\Service;

/** Found by ThinkPHP through `extra.think.services`. */
final class SluiceService extends Service
{
    public function register(): void
    {
        // So that controllers and jobs may ask for one.
        $this->app->bind(RateLimiter::class, static fn (): RateLimiter => Engine::current()->limiter());
        if ($this->app->config->get('sluice.drop_in', false)) {
            $this->app->bind('think\middleware\Throttle', Throttle::class);
        }
    }

    public function boot(): void
    {
        $prefix = $this->app->config->get('sluice.prefix', '');
        if (is_string($prefix) && $prefix !== '' && extension_loaded('sluice')) {
            // One that the pool has fixed stays: whoever fixed it has seen to it.
            @ini_set('sluice.prefix', "sluice:{$prefix}:");
        }
        $this->commands([Why::class, Reset::class, Routes::class]);
    }
}
