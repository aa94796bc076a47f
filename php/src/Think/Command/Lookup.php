<?php

declare(strict_types=1);

namespace Sluice\Think\Command;

use InvalidArgumentException;
use Sluice\Http\Facts;
use Sluice\Http\Found;
use Sluice\Http\Key;
use Sluice\Http\Policies;
use Sluice\Think\Attributes;
use Sluice\Think\Driver;
use Sluice\Think\Engine;
use Sluice\Think\KeyTemplate;
use Sluice\Think\Rate;
use Sluice\Think\RateLimit;
use Sluice\Think\Settings;
use ValueError;

/**
 * From what a person types to the counts it has.
 *
 * A key is written as the log has it, or as `ip:ADDRESS`, `user:ID` or
 * `account:FIELD=VALUE`: then it is followed through the routes that are limited.
 */
final class Lookup
{
    /** @var array<string, true> what could not be looked at, and why */
    public array $problems = [];

    public function __construct(private readonly Engine $engine, private readonly RouteTable $table)
    {
    }

    /**
     * @param string $policy only this policy, spec, or name of a limit in the log; empty for all
     * @return list<Found>
     * @throws ValueError for a policy that nobody knows
     */
    public function find(string $key, string $policy = ''): array
    {
        $found = [];
        $specs = 0;
        foreach ($this->places() as [$settings, $route, $first]) {
            $specs = $first ? 0 : $specs;
            try {
                array_push($found, ...$this->at($settings, $route, $key, $policy, $specs));
            } catch (ValueError | InvalidArgumentException $mistake) {
                $where = $route === '' ? 'config/throttle.php' : $route;
                $this->problems["{$where}: {$mistake->getMessage()}"] = true;
            }
        }
        $distinct = [];
        foreach ($found as $one) {
            $distinct[Key::of($one->key, $one->policy, (string) $one->limit)] ??= $one;
        }
        if (preg_match('/^throttle\.attribute\.(\d+)$/D', $policy, $number) === 1) {
            return $this->ofAttribute((int) $number[1], $policy, $key);
        }
        // A name that no route has: a policy that code asks for, or a spec.
        if ($distinct === [] && $policy !== '') {
            $specs = 0;
            return $this->ofPolicy($policy, $key, $this->facts($key, ''), '', $specs);
        }
        return array_values($distinct);
    }

    /** @return list<array{Settings, string, bool}> what limits, and where; and whether it is the first there */
    private function places(): array
    {
        // What the file says, for routes that have no rule.
        $places = [[$this->table->settings(), '', true]];
        foreach ($this->table->routes() as $route) {
            foreach ($route['limits'] as $number => $settings) {
                $places[] = [$settings, $route['route'], $number === 0];
            }
        }
        return $places;
    }

    /**
     * @param int $specs how many specs the route had before; counted on
     * @return list<Found>
     */
    private function at(Settings $settings, string $route, string $key, string $policy, int &$specs): array
    {
        $facts = $this->facts($key, $route);
        $names = $settings->policies();
        if ($route === '') {
            $names = [...$names, ...$this->engine->policies->names()];
        }
        $found = [];
        foreach ($names as $name) {
            $ofIt = $this->ofPolicy($name, $key, $facts, $route, $specs);
            $isMeant = $policy === '' || $policy === $name || str_starts_with($policy, "{$name}.");
            array_push($found, ...array_filter(
                $ofIt,
                static fn (Found $one): bool => $isMeant || $policy === $one->policy,
            ));
        }
        $rate = $policy === '' || $policy === $settings->limitName() ? $this->ofRate($settings, $key, $facts) : null;
        return $rate === null ? $found : [...$found, $rate];
    }

    /**
     * @param int $specs how many specs the route had before; counted on
     * @return list<Found>
     */
    private function ofPolicy(string $name, string $key, ?Facts $facts, string $route, int &$specs): array
    {
        $parts = $this->engine->policies->parts($name);
        $limits = $this->engine->policies->apart($name, array_column($parts, 'limit'), $specs);
        $spec = $specs > 1 ? Policies::nameOf($name) : '';
        $several = count($parts) > 1;
        $found = [];
        foreach ($parts as $number => $part) {
            $words = explode('+', $part['by']);
            $hasRoute = in_array('route', $words, true);
            $isShared = $facts !== null && array_diff($words, ['site', 'route']) === [];
            if ($facts !== null && (($hasRoute && $route === '') || (!$isShared && !self::concerns($words, $key)))) {
                continue;
            }
            $found[] = new Found(
                $facts === null ? $key : Policies::key($facts, $part['by']),
                $limits[$number],
                ctype_digit($name[0]) ? $spec : ($several ? "{$name}.{$number}" : $name),
                $hasRoute ? $route : '',
                $isShared,
            );
        }
        return $found;
    }

    /**
     * Whether a limit goes by what was typed.
     *
     * @param list<string> $words of `by`
     */
    private static function concerns(array $words, string $key): bool
    {
        $by = match (true) {
            str_starts_with($key, 'ip:') => ['client', 'ip'],
            str_starts_with($key, 'user:') => ['client'],
            default => [explode('=', $key, 2)[0]],
        };
        return array_intersect($words, $by) !== [];
    }

    /**
     * The rate of an attribute, which is found by the key: it begins with the
     * action that the attribute stands at.
     *
     * @return list<Found>
     */
    private function ofAttribute(int $number, string $name, string $key): array
    {
        $place = self::parts(self::parts($key)[2] ?? '')[0] ?? '';
        [$class, $action] = [...explode('::', $place, 2), ''];
        $attribute = Attributes::ofAction($class, $action)[$number][0] ?? null;
        $driver = $attribute === null ? null : Driver::ofClass($attribute->driver);
        if ($attribute === null || $driver === null) {
            throw new ValueError("\"{$name}\" is of an attribute: give the key as the log has it");
        }
        return [new Found($key, $driver->limit(Rate::parse($attribute->rate))->named($name), $name, $place)];
    }

    /** @return list<string> what {@see Key::of()} was given */
    private static function parts(string $key): array
    {
        $parts = [];
        // @mago-ignore analysis:possibly-undefined-variable - preg_match() sets it.
        while (preg_match('/^,?(\d{1,9}):/', $key, $length) === 1) {
            $parts[] = substr($key, strlen($length[0]), (int) $length[1]);
            $key = substr($key, strlen($length[0]) + (int) $length[1]);
        }
        return $parts;
    }

    private function ofRate(Settings $settings, string $key, ?Facts $facts): ?Found
    {
        $rate = $settings->rate();
        $driver = Driver::ofClass($settings->text('driver_name'));
        if ($rate === null || $driver === null) {
            return null;
        }
        $limit = $driver->limit($rate)->named($settings->limitName());
        if ($facts === null) {
            return new Found($key, $limit, $settings->limitName());
        }
        $template = $settings->get('key') === true ? RateLimit::IP : $settings->get('key');
        if (!is_string($template) || $template === '') {
            $this->problems["{$settings->limitName()}: its key is a closure's; give the key as the log has it"] = true;
            return null;
        }
        if (!str_contains($template, RateLimit::IP) || $facts->ip === '') {
            return null;
        }
        [$controller, $action] = [...explode('/', $facts->route, 2), ''];
        $filled = KeyTemplate::fill($template, static fn (string $place): string => match ($place) {
            RateLimit::IP => $facts->address(),
            RateLimit::CONTROLLER => $controller,
            RateLimit::ACTION => $action,
            default => '',
        });
        $exact = Key::of('think', $settings->text('prefix'), $filled);
        return new Found($exact, $limit, $settings->limitName(), $template === RateLimit::IP ? '' : $facts->route);
    }

    /** The facts of a request of theirs; null for a key as it is counted under. */
    private function facts(string $key, string $route): ?Facts
    {
        if (preg_match('/^(?:(user|ip):(.+)|account:([^=]+)=(.*))$/s', $key, $typed, PREG_UNMATCHED_AS_NULL) !== 1) {
            return null;
        }
        [, $kind, $value, $field, $account] = $typed;
        return new Facts(
            ip: $kind === 'ip' ? $value : '',
            route: $route,
            user: $kind === 'user' ? $value : null,
            input: static fn (string $asked): ?string => $asked === $field ? $account : null,
        );
    }
}
