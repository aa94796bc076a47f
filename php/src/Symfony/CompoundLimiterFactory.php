<?php

declare(strict_types=1);

namespace Sluice\Symfony;

use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Policy\NoLimiter;

/**
 * Makes compound limiters: the policy `compound` of Symfony 7.3 and later.
 */
final class CompoundLimiterFactory implements FactoryContract
{
    /** @param iterable<FactoryContract> $factories */
    public function __construct(private readonly iterable $factories)
    {
    }

    public function create(?string $key = null): LimiterInterface
    {
        $limiters = [];
        foreach ($this->factories as $factory) {
            $limiters[] = $factory->create($key);
        }
        // Without the extension each lets everything through, and so do all.
        return extension_loaded('sluice') ? new CompoundLimiter(...$limiters) : new NoLimiter();
    }
}
