<?php

declare(strict_types=1);

namespace Sluice\Symfony\DependencyInjection;

use Sluice\Symfony\CompoundLimiterFactory;
use Sluice\Symfony\LimiterFactory;
use Sluice\Symfony\LoginLimiter;
use Symfony\Component\DependencyInjection\Argument\ServiceClosureArgument;
use Symfony\Component\DependencyInjection\ChildDefinition;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Definition;
use Symfony\Component\DependencyInjection\Reference;

/**
 * Puts the engine under what FrameworkBundle and SecurityBundle configured.
 */
final class ReplaceLimitersPass implements CompilerPassInterface
{
    private const COMPOUND = 'Symfony\Component\RateLimiter\CompoundRateLimiterFactory';
    private const LOGIN = 'Symfony\Component\Security\Http\RateLimiter\DefaultLoginRateLimiter';

    public function process(ContainerBuilder $container): void
    {
        $limiter = new ServiceClosureArgument(new Reference('sluice.limiter'));
        foreach ($container->getDefinitions() as $id => $definition) {
            if ($definition instanceof ChildDefinition && $definition->getParent() === 'limiter') {
                $container->setDefinition($id, new Definition(LimiterFactory::class))
                    ->setArguments([$definition->getArgument(0), $limiter])
                    ->setPublic($definition->isPublic())
                    ->setTags($definition->getTags());
            } elseif ($definition->getClass() === self::COMPOUND) {
                $definition->setClass(CompoundLimiterFactory::class);
            } elseif ($definition->getClass() === self::LOGIN) {
                // Without the secret that newer versions shorten names with.
                $definition->setClass(LoginLimiter::class);
                $definition->setArguments(array_slice($definition->getArguments(), 0, 2));
            }
        }
    }
}
