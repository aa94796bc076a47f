<?php

declare(strict_types=1);

namespace Shop;

use Sluice\Symfony\SluiceBundle;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\SecurityBundle\SecurityBundle;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\RateLimiter\CompoundRateLimiterFactory;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

/**
 * An application as it is with Symfony's own limiter. SLUICE adds the one line.
 */
final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        yield new FrameworkBundle();
        if (self::hasSecurity()) {
            yield new SecurityBundle();
        }
        if (getenv('SLUICE')) {
            yield new SluiceBundle();
        }
    }

    public function getProjectDir(): string
    {
        return __DIR__;
    }

    public function getCacheDir(): string
    {
        return getenv('VAR') . '/cache';
    }

    public function getLogDir(): string
    {
        return getenv('VAR') . '/log';
    }

    private function configureContainer(ContainerConfigurator $container): void
    {
        $limiters = [
            'fixed' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 hour'],
            'sliding' => ['policy' => 'sliding_window', 'limit' => 3, 'interval' => '60 minutes'],
            'bucket' => ['policy' => 'token_bucket', 'limit' => 3, 'rate' => ['interval' => '1 hour', 'amount' => 1]],
            'free' => ['policy' => 'no_limit', 'limit' => 1],
        ];
        $limiters = array_map(static fn (array $limiter): array => $limiter + ['lock_factory' => null], $limiters);
        if (class_exists(CompoundRateLimiterFactory::class)) {
            $limiters['both'] = ['policy' => 'compound', 'limiters' => ['fixed', 'bucket']];
        }
        $container->extension('framework', [
            'secret' => 'not one',
            'http_method_override' => false,
            'php_errors' => ['log' => true],
            'trusted_proxies' => '127.0.0.1',
            'trusted_headers' => ['x-forwarded-for'],
            'rate_limiter' => $limiters,
        ]);
        if (getenv('SLUICE')) {
            $container->extension('sluice', [
                'store' => '%env(default::STORE)%',
                'without_extension' => (bool) getenv('LAPTOP'),
            ]);
        }
        if (self::hasSecurity()) {
            // 5.4 has an older one too.
            $manager = self::MAJOR_VERSION < 6 ? ['enable_authenticator_manager' => true] : [];
            $container->extension('security', $manager + [
                'password_hashers' => ['Symfony\Component\Security\Core\User\InMemoryUser' => 'plaintext'],
                'providers' => ['people' => ['memory' => ['users' => [
                    'ann' => ['password' => 'right', 'roles' => []],
                    'bob' => ['password' => 'right', 'roles' => []],
                ]]]],
                'firewalls' => ['main' => [
                    'json_login' => ['check_path' => 'login'],
                    'login_throttling' => ['max_attempts' => 3, 'interval' => '1 hour'],
                ]],
            ]);
        }
        $container->services()->defaults()->autowire()->autoconfigure()->public()->set(Pages::class);
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('page', '/page/{name}')->controller([Pages::class, 'page']);
        $routes->add('look', '/look/{name}')->controller([Pages::class, 'look']);
        $routes->add('reset', '/reset/{name}')->controller([Pages::class, 'reset']);
        $routes->add('security', '/security')->controller([Pages::class, 'security']);
        $routes->add('login', '/login')->controller([Pages::class, 'login']);
    }

    public static function hasSecurity(): bool
    {
        return class_exists(SecurityBundle::class);
    }
}
