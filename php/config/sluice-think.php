<?php

// +----------------------------------------------------------------------
// | Sluice 限流 / rate limits
// +----------------------------------------------------------------------
// | 频率、键、驱动等仍写在 config/throttle.php；这里只写它没有的。
// | Rates, keys and drivers stay in config/throttle.php; this is the rest.

return [
    // true：凡用 think\middleware\Throttle 之处都改由 Sluice 限流，代码不必改。
    // true: wherever think\middleware\Throttle is used, Sluice decides instead.
    'drop_in' => false,

    // 计数放在哪里：null 为 php.ini 的 sluice.store；'shared' 为本机共享内存；
    // 'redis://…' 为 Redis；或 config/cache.php 中 redis 类型缓存的名字。
    // Where counts are kept: null is sluice.store of php.ini; 'shared' this host's
    // shared memory; a DSN; or the name of a redis store in config/cache.php.
    'store' => null,

    // 与共用同一个 php-fpm 或同一个 Redis 的其他应用区分开；同一应用的各台主机要相同。
    // 留空则以 php.ini 的 sluice.prefix 为准。
    // Sets this application apart from others on the same php-fpm or Redis; the same
    // on each of its hosts. Empty is sluice.prefix of php.ini.
    'prefix' => '',

    // 有名字的策略：'policy' => 'login'，#[RateLimit(policy: 'login')]，'throttle:login'。
    // by：client（用户，否则 IP）、ip、account:字段、route、site，可用 + 连接。
    // Limits with a name. "by": client (the user, else the address), ip,
    // account:FIELD, route and site, joined by +.
    'policies' => [
        // 'api'   => '20/s burst 100',
        // 'login' => [
        //     ['limit' => '5/m', 'by' => 'account:email'],
        //     ['limit' => '30/m', 'by' => 'ip'],
        // ],
    ],

    // 当前用户的标识：闭包或可调用的类名，参数为 Request，返回 int、string 或 null。
    // Who is signed in: a closure, or the name of a class with __invoke(), that is
    // given the Request and returns an int, a string or null.
    'user' => null,

    // 前面的代理（地址或网段）。null：沿用 app\Request 的 $proxyServerIp。
    // The proxies in front. null: the $proxyServerIp of app\Request.
    'trusted_proxies' => null,

    // 不受限制的：用户标识、地址或网段、回调（参数为 Sluice\Http\Facts）。
    // Who is never limited: users, networks, a callback (given Sluice\Http\Facts).
    'allow' => [
        'users' => [],
        'networks' => [],
        'callback' => null,
    ],

    // 拒绝的日志：通道（null 为默认），以及同一个键最多几秒记一次。
    // Denials are logged to this channel, at most once a key and interval (seconds).
    'log' => [
        'channel' => null,
        'interval' => 10,
    ],

    // 没有安装扩展时是否放行（仅限调试模式，例如开发者的笔记本）。
    // Without the extension: whether all may pass. In debug mode only.
    'without_extension' => false,
];
