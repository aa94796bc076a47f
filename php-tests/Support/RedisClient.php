<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A connection to Redis that the extension knows nothing of. */
final class RedisClient
{
    /** @var resource */
    private $socket;

    public function __construct(string $path)
    {
        $socket = @stream_socket_client("unix://{$path}", $code, $message, 5);
        if ($socket === false) {
            throw new \RuntimeException("cannot connect to {$path}: {$message}");
        }
        stream_set_timeout($socket, 10);
        $this->socket = $socket;
    }

    /** Sends one command and returns its reply; an error is thrown. */
    public function command(string|int ...$words): mixed
    {
        $text = '*' . count($words) . "\r\n";
        foreach ($words as $word) {
            $text .= '$' . strlen((string) $word) . "\r\n{$word}\r\n";
        }
        fwrite($this->socket, $text);
        return $this->reply();
    }

    private function reply(): mixed
    {
        $line = fgets($this->socket);
        if ($line === false) {
            throw new \RuntimeException('Redis did not answer');
        }
        $rest = substr($line, 1, -2);
        return match ($line[0]) {
            '+' => $rest,
            ':' => (int) $rest,
            '$' => $rest === '-1' ? null : $this->bytes((int) $rest),
            '*' => $rest === '-1' ? null : array_map(fn () => $this->reply(), $rest ? range(1, (int) $rest) : []),
            default => throw new \RuntimeException("Redis says {$rest}"),
        };
    }

    private function bytes(int $count): string
    {
        $bytes = '';
        while (strlen($bytes) < $count + 2) {
            $more = fread($this->socket, $count + 2 - strlen($bytes));
            if ($more === false || $more === '') {
                throw new \RuntimeException('Redis stopped in the middle of a reply');
            }
            $bytes .= $more;
        }
        return substr($bytes, 0, -2);
    }
}
