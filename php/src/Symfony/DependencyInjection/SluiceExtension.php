<?php

declare(strict_types=1);

namespace Sluice\Symfony\DependencyInjection;

use Sluice\Limiter;
use Sluice\RateLimiter;
use Sluice\Symfony\RefusalListener;
use Symfony\Component\Config\Definition\Builder\ArrayNodeDefinition;
use Symfony\Component\Config\Definition\Builder\TreeBuilder;
use Symfony\Component\Config\Definition\ConfigurationInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Definition;
use Symfony\Component\DependencyInjection\Extension\Extension;

/**
 * Reads `config/packages/sluice.yaml`:
 *
 * ```yaml
 * sluice:
 *     store: '%env(default::SLUICE_STORE)%'   # a DSN; empty for the store of php.ini
 *     without_extension: false                 # true: let everything through on a laptop
 * ```
 */
final class SluiceExtension extends Extension implements ConfigurationInterface
{
    /** @param array<array<array-key, mixed>> $configs */
    public function load(array $configs, ContainerBuilder $container): void
    {
        /** @var array{store: mixed, without_extension: bool|string} $config text where it is of the environment */
        $config = $this->processConfiguration($this, $configs);
        $container->setParameter('sluice.without_extension', $config['without_extension']);
        $container->setDefinition('sluice.limiter', new Definition(Limiter::class, [$config['store']]));
        $container->setAlias(RateLimiter::class, 'sluice.limiter');
        $container->setDefinition('sluice.refusals', new Definition(RefusalListener::class))
            ->addTag('kernel.event_listener', ['event' => 'kernel.exception', 'priority' => 10]);
    }

    /** @param array<array-key, mixed> $config */
    public function getConfiguration(array $config, ContainerBuilder $container): ConfigurationInterface
    {
        return $this;
    }

    public function getConfigTreeBuilder(): TreeBuilder
    {
        $tree = new TreeBuilder('sluice');
        $root = $tree->getRootNode();
        assert($root instanceof ArrayNodeDefinition);
        $root->children()
            ->variableNode('store')
                ->info('A DSN such as redis://10.0.0.5; null for the store of php.ini')
                ->defaultNull()
            ->end()
            ->booleanNode('without_extension')
                ->info('Whether to let everything through where the extension is not loaded; never in prod')
                ->defaultFalse()
            ->end();
        // @mago-ignore analysis:invalid-return-statement - it is of the type "array" by default.
        return $tree;
    }
}
