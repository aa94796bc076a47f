<?php

declare(strict_types=1);

namespace Sluice\Symfony;

use Sluice\Extension;
use Sluice\Symfony\DependencyInjection\ReplaceLimitersPass;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\HttpKernel\Bundle\Bundle;
use Symfony\Component\RateLimiter\RateLimiterFactory;

/**
 * Symfony's rate limiters on the engine, by one line of `config/bundles.php`:
 *
 * ```php
 * Sluice\Symfony\SluiceBundle::class => ['all' => true],
 * ```
 *
 * What `framework.rate_limiter` and `login_throttling` configure stays as it
 * is, and so does the code that uses it.
 */
final class SluiceBundle extends Bundle
{
    public function __construct()
    {
        // Applications ask for Symfony's RateLimiterFactory by its name, which
        // is a final class and has no interface before 7.3. So ours goes by that
        // name, if it is not taken yet. It is where a preloaded file or an
        // earlier bundle used it: then ask for RateLimiterFactoryInterface, or
        // for Sluice\Symfony\LimiterFactory before 7.3.
        if (!class_exists(RateLimiterFactory::class, false)) {
            class_alias(LimiterFactory::class, RateLimiterFactory::class);
        }
    }

    public function build(ContainerBuilder $container): void
    {
        $container->addCompilerPass(new ReplaceLimitersPass());
    }

    /** @throws \RuntimeException without the extension, where that is not allowed */
    public function boot(): void
    {
        Extension::limits(
            (bool) $this->container?->getParameter('sluice.without_extension'),
            $this->container?->getParameter('kernel.environment') === 'prod',
        );
    }
}
