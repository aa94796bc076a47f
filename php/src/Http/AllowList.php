<?php

declare(strict_types=1);

namespace Sluice\Http;

use Closure;
use Sluice\Networks;

/**
 * Who is never limited: asked before any limit, so that a pass costs nothing
 * and charges nobody.
 */
final class AllowList
{
    /** @var array<string, true> */
    private readonly array $users;
    private readonly Networks $networks;

    /**
     * ```php
     * $allow = new AllowList(users: [1], networks: ['10.0.0.0/8', '::1'], callback: $isMonitor);
     * ```
     *
     * @param list<string|int> $users identifiers, as {@see Facts::$user}
     * @param list<string> $networks addresses and CIDRs
     * @param (Closure(Facts): bool)|null $callback
     * @throws \ValueError for what is neither an address nor a CIDR
     */
    public function __construct(
        array $users = [],
        array $networks = [],
        private readonly ?Closure $callback = null,
    ) {
        $this->users = array_fill_keys(array_map('strval', $users), true);
        $this->networks = new Networks($networks);
    }

    /** What lets this request pass, in words for a log; null if nothing does. */
    public function admits(Facts $facts): ?string
    {
        if ($facts->user !== null && isset($this->users[$facts->user])) {
            return 'user ' . $facts->user;
        }
        $network = $this->networks->find($facts->ip);
        if ($network !== null) {
            return 'network ' . $network;
        }
        return $this->callback !== null && ($this->callback)($facts) ? 'callback' : null;
    }
}
