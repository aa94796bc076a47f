<?php

declare(strict_types=1);

namespace Sluice\Think;

use Closure;
use Sluice\Http\AllowList;
use Sluice\Http\Facts;
use Sluice\Store;
use think\App;
use think\Request;
use ValueError;

/**
 * `config/sluice.php`, read.
 */
final class Config
{
    private const ALLOWED = [
        'drop_in', 'store', 'prefix', 'policies', 'user', 'trusted_proxies', 'allow', 'log', 'without_extension',
    ];

    public readonly bool $dropIn;
    public readonly bool $withoutExtension;

    /** @var array<string, mixed> */
    public readonly array $policies;

    /** @var list<string>|null null: as the application's Request says */
    public readonly ?array $trustedProxies;

    public readonly ?string $logChannel;

    /** Seconds. */
    public readonly float $logInterval;

    private readonly Store|string|null $store;
    private readonly mixed $user;

    /** @var array<mixed> */
    private readonly array $allow;

    /** @throws ValueError for an entry that does not exist, or of the wrong type */
    public function __construct(private readonly App $app)
    {
        /** @var array<array-key, mixed> $config */
        $config = $this->app->config->get('sluice', []);
        $unknown = array_diff(array_keys($config), self::ALLOWED);
        if ($unknown !== []) {
            throw new ValueError(sprintf(
                'config/sluice.php does not know "%s"; it takes %s',
                implode('", "', $unknown),
                implode(', ', self::ALLOWED),
            ));
        }
        $list = static function (string $name) use ($config): array {
            $list = $config[$name] ?? [];
            return is_array($list) ? $list : throw self::wrong($name, 'an array', $list);
        };
        $log = $list('log');
        $store = $config['store'] ?? null;
        $channel = $log['channel'] ?? null;
        $interval = $log['interval'] ?? 10;
        /** @var list<string>|string|null $proxies */
        $proxies = $config['trusted_proxies'] ?? null;
        /** @var array<string, mixed> $policies */
        $policies = $list('policies');
        $prefix = $config['prefix'] ?? '';
        if (!is_string($prefix)) {
            throw self::wrong('prefix', 'text, such as "shop"', $prefix);
        }
        $this->dropIn = (bool) ($config['drop_in'] ?? false);
        $this->withoutExtension = (bool) ($config['without_extension'] ?? false);
        $this->policies = $policies;
        $this->trustedProxies = $proxies === null ? null : array_values((array) $proxies);
        $this->logChannel = $channel === null || is_string($channel)
            ? $channel
            : throw self::wrong('log.channel', 'the name of a channel, or null for the default one', $channel);
        $this->logInterval = is_numeric($interval) && $interval > 0
            ? (float) $interval
            : throw self::wrong('log.interval', 'a number of seconds above 0', $interval);
        $this->store = $store === null || is_string($store) || $store instanceof Store
            ? $store
            : throw self::wrong('store', 'null, "shared", a DSN, or a redis store of config/cache.php', $store);
        $this->user = $config['user'] ?? null;
        $this->allow = $list('allow');
    }

    /**
     * What {@see \Sluice\Limiter} is made with.
     *
     * @throws ValueError for a name that is no Redis of `config/cache.php`
     */
    public function store(): Store|string|null
    {
        $store = $this->store;
        if ($store === 'shared') {
            return Store::sharedMemory();
        }
        if ($store === null || $store instanceof Store || str_contains($store, '://')) {
            return $store;
        }
        $cache = $this->app->config->get("cache.stores.{$store}");
        if (!is_array($cache) || !str_ends_with(strtolower((string) ($cache['type'] ?? '')), 'redis')) {
            throw new ValueError(
                "\"store\" in config/sluice.php is \"{$store}\", which is no redis store of config/cache.php;"
                . ' give null, "shared", a DSN such as "redis://127.0.0.1:6379", or the name of one'
            );
        }
        return self::redis($cache);
    }

    public function allowList(): AllowList
    {
        $callback = $this->callable($this->allow['callback'] ?? null, 'callback');
        /** @var array<string|int> $users */
        $users = $this->allow['users'] ?? [];
        /** @var array<string> $networks */
        $networks = $this->allow['networks'] ?? [];
        return new AllowList(
            array_values($users),
            array_values($networks),
            $callback === null ? null : static fn (Facts $facts): bool => (bool) $callback($facts),
        );
    }

    /** The identifier of who is signed in; null for nobody. */
    public function user(Request $request): ?string
    {
        $user = $this->callable($this->user, 'user');
        $identifier = $user === null ? null : $user($request);
        // An empty identifier is nobody's, not everybody's.
        return is_scalar($identifier) && (string) $identifier !== '' && $identifier !== false
            ? (string) $identifier
            : null;
    }

    /** @param array<mixed> $cache a store of `config/cache.php` */
    private static function redis(#[\SensitiveParameter] array $cache): Store
    {
        $prefix = (string) ($cache['prefix'] ?? '');
        $host = (string) ($cache['host'] ?? '127.0.0.1');
        $secure = preg_match('#^(?:tls|ssl)://#', $host) === 1;
        $host = preg_replace('#^(?:tls|ssl|tcp)://#', '', $host);
        $dsn = ($secure ? 'rediss' : 'redis') . "://{$host}:" . (int) ($cache['port'] ?? 6379);
        return Store::redis(
            str_starts_with((string) $host, '/') ? "unix://{$host}" : $dsn,
            // @mago-ignore analysis:possibly-invalid-argument - array_filter() forgets which entry is which.
            array_filter([
                'db' => (int) ($cache['select'] ?? 0),
                'password' => (string) ($cache['password'] ?? ''),
                'prefix' => $prefix === '' ? '' : "{$prefix}sluice:",
            ], static fn (int|string $value): bool => $value !== '' && $value !== 0),
        );
    }

    private static function wrong(string $name, string $allowed, mixed $given): ValueError
    {
        return new ValueError("\"{$name}\" in config/sluice.php must be {$allowed}, not " . get_debug_type($given));
    }

    private function callable(mixed $given, string $name): ?Closure
    {
        if (is_string($given) && class_exists($given)) {
            $given = $this->app->make($given);
        }
        return match (true) {
            $given === null => null,
            is_callable($given) => Closure::fromCallable($given),
            default => throw new ValueError(
                "\"{$name}\" in config/sluice.php must be a closure or the name of a class with __invoke()"
            ),
        };
    }
}
