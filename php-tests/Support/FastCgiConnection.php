<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A connection to php-fpm that is kept over requests, as nginx does with `fastcgi_keep_conn`. */
final class FastCgiConnection
{
    /** @var resource */
    public readonly mixed $socket;

    public function __construct(string $listen)
    {
        $this->socket = self::open($listen);
    }

    /** @return resource */
    public static function open(string $listen): mixed
    {
        $socket = stream_socket_client("unix://{$listen}", $code, $message, 10);
        if ($socket === false) {
            throw new \RuntimeException("cannot connect to php-fpm: {$message}");
        }
        stream_set_timeout($socket, 60);
        return $socket;
    }
}
