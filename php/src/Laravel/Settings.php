<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Illuminate\Contracts\Config\Repository;
use Sluice\Http\HeaderStyle;
use ValueError;

/**
 * `config/sluice.php`, each entry as what it has to be.
 *
 * Reads when it is asked, so that a test may change the configuration.
 */
final class Settings
{
    public function __construct(private readonly Repository $config)
    {
    }

    /** @return string|null null and empty are what php.ini says */
    public function store(): ?string
    {
        $store = $this->text('store', null);
        return $store === '' ? null : $store;
    }

    /** What sets the counts of this application apart; empty for what php.ini says. */
    public function prefix(): string
    {
        return (string) $this->text('prefix', '');
    }

    /** @return array<string, mixed> as {@see \Sluice\Http\Policies} takes them */
    public function policies(): array
    {
        $policies = [];
        foreach ($this->list('policies') as $name => $policy) {
            $policies[(string) $name] = $policy;
        }
        return $policies;
    }

    /** @return array<string, string> policies by the name of the group */
    public function groups(): array
    {
        $groups = [];
        foreach ($this->list('groups') as $group => $policy) {
            $groups[(string) $group] = is_string($policy)
                ? $policy
                : throw self::wrong('groups', "the name of a policy for each group, such as 'tiers'", $policy);
        }
        return $groups;
    }

    /** The policy that `sluice` without a name means. */
    public function defaultPolicy(): string
    {
        return (string) $this->text('default', '');
    }

    /** @return list<string|int> */
    public function allowedUsers(): array
    {
        $users = [];
        foreach ($this->list('allow.users') as $user) {
            $users[] = is_string($user) || is_int($user)
                ? $user
                : throw self::wrong('allow.users', 'a list of identifiers', $user);
        }
        return $users;
    }

    /** @return list<string> */
    public function allowedNetworks(): array
    {
        $networks = [];
        foreach ($this->list('allow.networks') as $network) {
            $networks[] = is_string($network)
                ? $network
                : throw self::wrong('allow.networks', 'addresses and networks, such as "10.0.0.0/8"', $network);
        }
        return $networks;
    }

    /** The class that says whom nothing limits. */
    public function allowCallback(): ?string
    {
        return $this->invokable('allow.callback');
    }

    public function headers(): HeaderStyle
    {
        $name = $this->text('headers', HeaderStyle::Laravel->value);
        return HeaderStyle::tryFrom((string) $name)
            ?? throw self::wrong('headers', '"laravel", "standard" or "none"', $name);
    }

    public function message(): string
    {
        return (string) $this->text('message', 'Too Many Attempts.');
    }

    /** The class that makes the whole answer. */
    public function responder(): ?string
    {
        return $this->invokable('responder');
    }

    /** @return string|false|null null is the default channel, false is none */
    public function logChannel(): string|false|null
    {
        $channel = $this->get('log.channel');
        return $channel === false ? false : $this->text('log.channel', null);
    }

    /** Seconds between two lines of one key. */
    public function logInterval(): float
    {
        $interval = $this->get('log.interval') ?? 10;
        return is_numeric($interval) && $interval > 0
            ? (float) $interval
            : throw self::wrong('log.interval', 'a number of seconds above 0', $interval);
    }

    public function dropIn(): bool
    {
        return (bool) $this->get('drop_in');
    }

    public function letsThroughWithoutExtension(): bool
    {
        return (bool) $this->get('without_extension');
    }

    private function get(string $name): mixed
    {
        return $this->config->get("sluice.{$name}");
    }

    private function text(string $name, ?string $default): ?string
    {
        $value = $this->get($name) ?? $default;
        return $value === null || is_string($value) ? $value : throw self::wrong($name, 'text', $value);
    }

    /** @return array<mixed> */
    private function list(string $name): array
    {
        $value = $this->get($name) ?? [];
        return is_array($value) ? $value : throw self::wrong($name, 'an array', $value);
    }

    private function invokable(string $name): ?string
    {
        $class = $this->text($name, null);
        return $class === null || method_exists($class, '__invoke')
            ? $class
            : throw self::wrong($name, 'the name of a class with a method __invoke()', $class);
    }

    private static function wrong(string $name, string $allowed, mixed $given): ValueError
    {
        $shown = is_scalar($given) ? var_export($given, true) : get_debug_type($given);
        return new ValueError("config/sluice.php: \"{$name}\" must be {$allowed}; {$shown} given");
    }
}
