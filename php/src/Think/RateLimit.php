<?php

declare(strict_types=1);

namespace Sluice\Think;

use Attribute;
use Closure;

/**
 * Limits an action of a controller, or all of them.
 *
 * ```php
 * #[RateLimit('1/d', key: RateLimit::SESSION, message: 'One coupon a day')]
 * #[RateLimit(policy: 'expensive')]
 * public function coupon(): string
 * ```
 *
 * Several on one action are asked together, all or nothing. Needs the middleware
 * {@see Throttle} behind the routing: in `middleware` of `config/route.php`, at a
 * route or group, or in a controller.
 *
 * The first four parameters are those of think-throttle's attribute, which does
 * as well.
 */
#[Attribute(Attribute::IS_REPEATABLE | Attribute::TARGET_METHOD | Attribute::TARGET_CLASS)]
final class RateLimit
{
    public const AUTO = true;
    public const IP = '__IP__';
    public const SESSION = '__SESSION__';
    public const CONTROLLER = '__CONTROLLER__';
    public const ACTION = '__ACTION__';

    /**
     * @param string $rate such as `10/m` or `200/300`; empty for none
     * @param string|bool|array{class-string, string}|Closure $key who is limited
     *        on this action: true is the client's address; a text, in which the
     *        constants of this class are filled in; a static method that gives
     *        one of these; false is nobody
     * @param string $driver the class of think-throttle's driver, which says what
     *        kind of limit it is, or of one's own
     * @param string $message the body of a refusal; `__WAIT__` becomes the seconds
     * @param string $policy a policy, which has keys of its own
     */
    public function __construct(
        public readonly string $rate = '',
        public readonly string|bool|array|Closure $key = self::AUTO,
        public readonly string $driver = 'think\middleware\throttle\CounterFixed',
        public readonly string $message = 'Too Many Requests',
        public readonly string $policy = '',
    ) {
    }
}
