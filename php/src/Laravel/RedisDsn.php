<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Illuminate\Support\ConfigurationUrlParser;
use InvalidArgumentException;

/**
 * The DSN of a connection of config/database.php, from its words alone: no
 * client is made and nothing is connected.
 */
final class RedisDsn
{
    /** What a PHP stream calls the files of TLS, and what a DSN does. */
    private const TLS = ['cafile' => 'ca', 'local_cert' => 'cert', 'local_pk' => 'key', 'peer_name' => 'server_name'];

    /**
     * ```php
     * RedisDsn::of('default', config('database.redis'));   // "redis://127.0.0.1:6379/0?prefix=…"
     * ```
     *
     * @param array<string, mixed> $redis `database.redis`
     * @throws InvalidArgumentException for a connection that is not there
     */
    public static function of(string $name, #[\SensitiveParameter] array $redis): string
    {
        $connections = self::connections($redis);
        $clusters = self::arrays($redis['clusters'] ?? []);
        $prefix = self::text(self::arrays($redis)['options']['prefix'] ?? null);
        if (isset($connections[$name])) {
            return self::single(self::parsed($connections[$name]), $prefix);
        }
        $nodes = $name === 'options' ? [] : array_values(self::arrays($clusters[$name] ?? []));
        if ($nodes !== []) {
            return self::cluster(array_map(self::parsed(...), $nodes), $prefix);
        }
        throw new InvalidArgumentException(sprintf(
            'config/database.php has no Redis connection "%s"; sluice.store is null, "shared", a DSN '
            . 'such as "redis://127.0.0.1:6379", or one of: %s',
            $name,
            implode(', ', array_keys($connections)),
        ));
    }

    /** @param array<string, mixed> $config */
    private static function single(#[\SensitiveParameter] array $config, ?string $prefix): string
    {
        [$scheme, $host] = self::server($config);
        $options = self::options($config, $prefix);
        $database = self::text($config['database'] ?? null) ?? '0';
        if ($scheme === 'unix') {
            [$user, $password] = self::login($config);
            return 'unix://' . str_replace('%2F', '/', rawurlencode($host))
                . self::query(['db' => $database, 'user' => $user, 'password' => $password] + $options);
        }
        return "{$scheme}://" . self::authority($config) . self::address($config) . "/{$database}"
            . self::query($options);
    }

    /** @param non-empty-list<array<string, mixed>> $nodes */
    private static function cluster(#[\SensitiveParameter] array $nodes, ?string $prefix): string
    {
        return self::server($nodes[0])[0] . '+cluster://' . self::authority($nodes[0])
            . implode(',', array_map(self::address(...), $nodes))
            . self::query(self::options($nodes[0], $prefix));
    }

    /**
     * `redis`, `rediss` or `unix`, and the host or path.
     *
     * @param array<string, mixed> $config
     * @return array{string, string}
     */
    private static function server(#[\SensitiveParameter] array $config): array
    {
        $host = self::text($config['host'] ?? null) ?? '127.0.0.1';
        $scheme = self::text($config['scheme'] ?? $config['driver'] ?? null) ?? 'tcp';
        // It may stand in the host, as in "tls://cache.internal".
        if (preg_match('#^(\w+)://(.*)$#', $host, $found) === 1) {
            [, $scheme, $host] = $found;
        }
        return match (true) {
            $scheme === 'unix' => ['unix', self::text($config['path'] ?? null) ?? $host],
            str_starts_with($host, '/') => ['unix', $host],
            in_array($scheme, ['tls', 'ssl', 'rediss'], true) => ['rediss', $host],
            default => ['redis', $host],
        };
    }

    /** @param array<string, mixed> $config */
    private static function address(#[\SensitiveParameter] array $config): string
    {
        $host = self::server($config)[1];
        return (str_contains($host, ':') && $host[0] !== '[' ? "[{$host}]" : $host) . ':'
            . (self::text($config['port'] ?? null) ?? '6379');
    }

    /** @param array<string, mixed> $config */
    private static function authority(#[\SensitiveParameter] array $config): string
    {
        [$user, $password] = self::login($config);
        return $user === null && $password === null
            ? ''
            : rawurlencode((string) $user) . ':' . rawurlencode((string) $password) . '@';
    }

    /**
     * @param array<string, mixed> $config
     * @return array{?string, ?string}
     */
    private static function login(#[\SensitiveParameter] array $config): array
    {
        $user = $config['username'] ?? null;
        $password = $config['password'] ?? null;
        if (is_array($password)) {
            // As phpredis takes it: a password, or a user and a password.
            $words = array_values($password);
            $password = array_pop($words);
            $user ??= $words[0] ?? null;
        }
        return [self::text($user), self::text($password)];
    }

    /**
     * @param array<string, mixed> $config
     * @return array<string, ?string>
     */
    private static function options(#[\SensitiveParameter] array $config, ?string $prefix): array
    {
        $own = self::arrays($config);
        $prefix = self::text($own['options']['prefix'] ?? $prefix ?? $config['prefix'] ?? null);
        $options = ['prefix' => $prefix === null ? null : "{$prefix}sluice:"];
        if (self::server($config)[0] === 'rediss') {
            $context = self::arrays($own['context'] ?? []);
            $stream = ($own['ssl'] ?? []) + ($context['ssl'] ?? []) + ($context['stream'] ?? []);
            foreach (self::TLS as $theirs => $ours) {
                $options[$ours] = self::text($stream[$theirs] ?? null);
            }
            $options['verify'] = ($stream['verify_peer'] ?? true) === false ? 'no' : null;
        }
        return $options;
    }

    /** @param array<string, ?string> $options */
    private static function query(#[\SensitiveParameter] array $options): string
    {
        $query = http_build_query($options, '', '&', PHP_QUERY_RFC3986);
        return $query === '' ? '' : "?{$query}";
    }

    /**
     * @param array<array-key, mixed> $connection
     * @return array<string, mixed>
     */
    private static function parsed(#[\SensitiveParameter] array $connection): array
    {
        $parsed = [];
        foreach ((new ConfigurationUrlParser())->parseConfiguration($connection) as $name => $value) {
            $parsed[(string) $name] = $value;
        }
        return $parsed;
    }

    /**
     * The connections among the words of `database.redis`.
     *
     * @param array<string, mixed> $redis
     * @return array<array-key, array<array-key, mixed>>
     */
    private static function connections(#[\SensitiveParameter] array $redis): array
    {
        return self::arrays(array_diff_key($redis, ['options' => 1, 'clusters' => 1]));
    }

    /**
     * What is an array in there.
     *
     * @return array<array-key, array<array-key, mixed>>
     */
    private static function arrays(#[\SensitiveParameter] mixed $values): array
    {
        return is_array($values) ? array_filter($values, is_array(...)) : [];
    }

    private static function text(#[\SensitiveParameter] mixed $value): ?string
    {
        return is_scalar($value) && $value !== '' ? (string) $value : null;
    }
}
