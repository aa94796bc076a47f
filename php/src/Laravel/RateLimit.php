<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Attribute;
use ValueError;

/**
 * A limit of a controller's own, on the class or on one action.
 *
 * ```php
 * #[RateLimit('login')]                     // a policy
 * #[RateLimit('5/m', by: 'account:email')]  // a spec, and who shares the count
 * #[RateLimit(capacity: 10, rate: 0.5)]     // a token bucket: 10 at once, one in two seconds
 * ```
 *
 * Several are asked together. Those of an action take the place of those of its
 * class, and all of them the place of what the route's policy says by
 * `client+route`; the other tiers of that policy stay.
 */
#[Attribute(Attribute::TARGET_CLASS | Attribute::TARGET_METHOD | Attribute::TARGET_FUNCTION | Attribute::IS_REPEATABLE)]
final class RateLimit
{
    /**
     * @param string|null $limit the name of a policy, or a spec
     * @param string|null $by who shares the count, as in the policies; null is
     *        what the policy says, and `client+route` for a spec
     * @param int|null $capacity tokens at once, from 0 to 32 000 000
     * @param int|float|null $rate tokens per second, up to 1 000 000
     * @throws ValueError unless there is either a limit, or capacity and rate
     */
    public function __construct(
        public readonly ?string $limit = null,
        public readonly ?string $by = null,
        public readonly ?int $capacity = null,
        public readonly int|float|null $rate = null,
    ) {
        $numbers = ($capacity !== null) + ($rate !== null);
        if ($numbers === 1 || ($numbers === 2) === ($limit !== null)) {
            throw new ValueError(
                'a limit of a route is either a policy or spec, such as "20/s burst 100", or a capacity and a rate'
            );
        }
    }
}
