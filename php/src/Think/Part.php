<?php

declare(strict_types=1);

namespace Sluice\Think;

use Sluice\Limit;

/**
 * One of the limits of a request, and what its refusal says.
 */
final class Part
{
    /**
     * @param Limit $limit with its key
     * @param string|null $message null: `visit_fail_text`
     * @param int $seconds what `__WAIT__` becomes if it can never pass
     */
    public function __construct(
        public readonly Limit $limit,
        public readonly ?string $message = null,
        public readonly int $seconds = 60,
    ) {
    }
}
