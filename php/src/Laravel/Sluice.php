<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Illuminate\Support\Facades\Facade;

/**
 * Limits by name, from anywhere in the application:
 *
 * ```php
 * // in the boot() of a service provider
 * Sluice::for('api', fn (Request $request) => $request->user()?->isGold()
 *     ? Limit::tokenBucket(200, 100)
 *     : Limit::tokenBucket(40, 20));
 * ```
 *
 * @method static void for(string|\UnitEnum $name, \Closure $limits)
 * @method static \Sluice\Decision reserve(string $policy, float $maxWait, ?\Illuminate\Http\Request $request = null)
 * @see NamedLimits
 */
final class Sluice extends Facade
{
    protected static function getFacadeAccessor(): string
    {
        return NamedLimits::class;
    }
}
