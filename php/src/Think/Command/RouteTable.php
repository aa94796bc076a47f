<?php

declare(strict_types=1);

namespace Sluice\Think\Command;

use Sluice\Think\Settings;
use Sluice\Think\Throttle;
use think\App;
use think\event\RouteLoaded;

/**
 * The routes that are registered, and what limits each of them.
 *
 * What ThinkPHP routes by controller and action, without a rule, is not among
 * them: nobody knows those before they are asked for.
 *
 * @phpstan-type Rule array{method: string, rule: string, route: mixed, option: array{middleware?: array<mixed>}}
 */
final class RouteTable
{
    private const THEIRS = 'think\middleware\Throttle';

    public function __construct(private readonly App $app)
    {
    }

    /**
     * @return list<array{methods: string, rule: string, route: string, limits: list<Settings>, theirs: bool}>
     *         `route` is what {@see \Sluice\Http\Facts::$route} is there
     */
    public function routes(): array
    {
        $everywhere = [...$this->ofFile(), ...$this->list('route.middleware')];
        $routes = [];
        foreach ($this->rules() as $rule) {
            $limits = [];
            $theirs = false;
            foreach ($this->flat([...$everywhere, ...$rule['option']['middleware'] ?? []]) as [$name, $params]) {
                if ($name === Throttle::class || ($name === self::THEIRS && $this->isDroppedIn())) {
                    $limits[] = $this->settings($params);
                }
                $theirs = $theirs || ($name === self::THEIRS && !$this->isDroppedIn());
            }
            $routes[] = [
                'methods' => strtoupper((string) $rule['method']),
                'rule' => (string) $rule['rule'],
                'route' => self::route($rule),
                'limits' => array_values(array_filter($limits, self::limitsSomething(...))),
                'theirs' => $theirs,
            ];
        }
        return $routes;
    }

    /**
     * What stands in `config/throttle.php`, with a route's parameters on top.
     *
     * @param array<array-key, mixed> $params
     */
    public function settings(array $params = []): Settings
    {
        return new Settings(\think\middleware\Throttle::$default_config, $this->list('throttle'), $params);
    }

    /** @return array<array-key, mixed> an entry of the configuration */
    private function list(string $name): array
    {
        $list = $this->app->config->get($name) ?? [];
        return is_array($list) ? $list : [$list];
    }

    private function isDroppedIn(): bool
    {
        return (bool) $this->app->config->get('sluice.drop_in', false);
    }

    private static function limitsSomething(Settings $settings): bool
    {
        return $settings->policies() !== []
            || (!in_array($settings->get('visit_rate'), [null, ''], true)
                && !in_array($settings->get('key'), [null, false, ''], true));
    }

    /** @return list<mixed> the middleware of `app/middleware.php` */
    private function ofFile(): array
    {
        $file = $this->app->getBasePath() . 'middleware.php';
        $middleware = is_file($file) ? include $file : [];
        return is_array($middleware) ? array_values($middleware) : [];
    }

    /** @return list<Rule> */
    private function rules(): array
    {
        $this->app->route->clear();
        $this->app->route->lazy(false);
        foreach (glob($this->app->getRootPath() . 'route/*.php') ?: [] as $file) {
            include $file;
        }
        $this->app->event->trigger(RouteLoaded::class);
        /** @var list<Rule> $rules */
        $rules = $this->app->route->getRuleList();
        return $rules;
    }

    /**
     * Middleware by class and parameters, aliases and groups of them followed.
     *
     * @param array<mixed> $middleware
     * @return list<array{string, array<array-key, mixed>}>
     */
    private function flat(array $middleware): array
    {
        $aliases = $this->list('middleware.alias');
        $flat = [];
        foreach ($middleware as $one) {
            [$name, $params] = is_array($one) ? [$one[0] ?? '', $one[1] ?? []] : [$one, []];
            $params = is_array($params) ? $params : [$params];
            $name = is_string($name) ? $aliases[$name] ?? $name : $name;
            if (is_array($name)) {
                array_push($flat, ...$this->flat($name));
            } elseif (is_string($name)) {
                $given = $params[0] ?? [];
                $flat[] = [ltrim($name, '\\'), is_array($given) ? $given : ['policy' => array_values($params)]];
            }
        }
        return $flat;
    }

    /** @param Rule $rule */
    private static function route(array $rule): string
    {
        $route = $rule['route'];
        if (is_string($route) && preg_match('#[@\\\\]|::#', $route) !== 1 && str_contains($route, '/')) {
            // Layers in front of the controller end up in its name.
            $path = explode('/', strtolower($route));
            $action = array_pop($path);
            return implode('.', $path) . '/' . $action;
        }
        return strtolower((string) $rule['method']) . ' ' . $rule['rule'];
    }
}
