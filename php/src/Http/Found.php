<?php

declare(strict_types=1);

namespace Sluice\Http;

use Sluice\Limit;

/**
 * One count that a key may have: a limit and the exact key.
 */
final class Found
{
    /**
     * @param string $policy the limit's name, empty for a spec
     * @param string $route where it is asked, empty for any
     * @param bool $isShared whether others spend from it too
     */
    public function __construct(
        public readonly string $key,
        public readonly Limit $limit,
        public readonly string $policy,
        public readonly string $route = '',
        public readonly bool $isShared = false,
    ) {
    }

    /** Such as `login.1 (30/m) on POST /login`. */
    public function words(): string
    {
        $spec = (string) $this->limit;
        return ($this->policy === '' ? $spec : "{$this->policy} ({$spec})")
            . ($this->route === '' ? '' : " on {$this->route}")
            . ($this->isShared ? ', shared with others' : '');
    }
}
