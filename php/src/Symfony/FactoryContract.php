<?php

// phpcs:disable PSR1.Files.SideEffects -- the one or the other

declare(strict_types=1);

namespace Sluice\Symfony;

use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;

if (interface_exists(RateLimiterFactoryInterface::class)) {
    class_alias(RateLimiterFactoryInterface::class, FactoryContract::class);
} else {
    /** Makes limiters: Symfony's RateLimiterFactoryInterface, which there is from 7.3 on. */
    interface FactoryContract
    {
        /** @param string|null $key who is limited */
        public function create(?string $key = null): LimiterInterface;
    }
}
