<?php

declare(strict_types=1);

// The limits of the example shop, for Slim 3 and 4 alike.

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Log\AbstractLogger;
use Sluice\Http\AllowList;
use Sluice\ClientAddress;
use Sluice\Http\DenialLog;
use Sluice\Http\Guard;
use Sluice\Http\HeaderStyle;
use Sluice\Http\Policies;
use Sluice\Limiter;
use Sluice\Psr15\RateLimit;

return static function (ResponseFactoryInterface $responses): array {
    $log = new class extends AbstractLogger {
        public function log($level, $message, array $context = []): void
        {
            file_put_contents(getenv('JOURNAL'), json_encode([$message, $context]) . "\n", FILE_APPEND | LOCK_EX);
        }
    };
    $limiter = new Limiter(getenv('STORE') ?: null);
    $guard = new Guard($limiter, new AllowList(networks: ['198.51.100.0/24']), new DenialLog($log), $log);
    $policies = new Policies([
        'items' => '2/h',
        'login' => [['limit' => '2/h', 'by' => 'account:email'], ['limit' => '5/h', 'by' => 'ip']],
    ]);
    $options = [
        'guard' => $guard,
        'policies' => $policies,
        'address' => new ClientAddress(['127.0.0.1']),
        'user' => static fn (ServerRequestInterface $request): ?string => $request->getHeaderLine('X-User') ?: null,
    ];
    return [
        'items' => new RateLimit($responses, 'items', ...$options),
        'login' => new RateLimit($responses, 'login', ...$options),
        'orders' => new RateLimit($responses, ['3/h', '20/s burst 1'], ...$options, headers: HeaderStyle::Laravel),
    ];
};
