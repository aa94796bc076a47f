<?php

declare(strict_types=1);

namespace Sluice\Think\Compat;

/**
 * Stands in for `think\middleware\Throttle` where think-throttle is not
 * installed, so that a `config/throttle.php` that names it can be read.
 */
// @mago-ignore analysis:class-must-be-final - it is extended by its other name.
class Throttle
{
    /** What `visit_fail_text` has in the place of the seconds. */
    public const WAIT = '__WAIT__';

    /** @var array<string, mixed> what a `config/throttle.php` need not say */
    public static array $default_config = [
        'prefix' => 'throttle_',
        'key' => true,
        'visit_rate' => '',
        'visit_enable_show_rate_limit' => true,
        'visit_fail_code' => 429,
        'visit_fail_text' => 'Too many requests, try again after ' . self::WAIT . ' seconds.',
        'visit_fail_response' => null,
        'driver_name' => 'think\middleware\throttle\CounterFixed',
    ];
}
