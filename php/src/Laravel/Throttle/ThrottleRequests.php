<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;

/** Laravel's middleware of this name, counting on the engine. */
final class ThrottleRequests extends LaravelThrottleRequests
{
    use AsksAllAtOnce;
}
