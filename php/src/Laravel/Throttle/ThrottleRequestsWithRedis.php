<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Illuminate\Routing\Middleware\ThrottleRequestsWithRedis as LaravelThrottleRequestsWithRedis;

/** Laravel's middleware of this name, counting on the engine. */
final class ThrottleRequestsWithRedis extends LaravelThrottleRequestsWithRedis
{
    use AsksAllAtOnce;
}
