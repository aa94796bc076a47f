<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** One request to php-fpm: sent when it is made, answered when it is asked. */
final class FastCgiRequest
{
    private const BEGIN = 1;
    private const END = 3;
    private const PARAMS = 4;
    private const STDIN = 5;
    private const STDOUT = 6;
    private const STDERR = 7;

    /** @var resource */
    private $socket;

    /**
     * @param array<string, string|int>    $query
     * @param array<string, string|null>   $params more of what a web server sends, or
     *                                     null for what it does not
     * @param ?FastCgiConnection           $connection one to use, and to keep open
     */
    public function __construct(
        string $listen,
        string $script,
        array $query,
        array $params = [],
        string $body = '',
        private readonly ?FastCgiConnection $connection = null,
    ) {
        $this->socket = $connection?->socket ?? FastCgiConnection::open($listen);
        $query = http_build_query($query);
        $params = array_filter($params + [
            'SCRIPT_FILENAME' => $script,
            'REQUEST_METHOD' => 'GET',
            'REQUEST_URI' => '/' . basename($script) . "?{$query}",
            'QUERY_STRING' => $query,
            'SERVER_PROTOCOL' => 'HTTP/1.1',
        ] + ($body === '' ? [] : ['CONTENT_LENGTH' => (string) strlen($body)]), is_string(...));
        // Role 1 is a responder; without the flag 1 the connection ends with the answer.
        $this->send(self::BEGIN, pack('nCx5', 1, $connection === null ? 0 : 1));
        $this->send(self::PARAMS, implode('', array_map(self::pair(...), array_keys($params), $params)));
        $this->send(self::PARAMS, '');
        foreach (str_split($body, 32_000) as $part) {
            $this->send(self::STDIN, $part);
        }
        if ($body !== '') {
            $this->send(self::STDIN, '');
        }
    }

    /** Waits for the answer. */
    public function response(): HttpResponse
    {
        $streams = [self::STDOUT => '', self::STDERR => ''];
        do {
            $header = unpack('Cversion/Ctype/nid/nlength/Cpadding', $this->read(8));
            $contents = $this->read($header['length']);
            $this->read($header['padding']);
            if (isset($streams[$header['type']])) {
                $streams[$header['type']] .= $contents;
            }
        } while ($header['type'] !== self::END);
        if ($this->connection === null) {
            fclose($this->socket);
        }
        if ($streams[self::STDERR] !== '') {
            throw new \RuntimeException("PHP said: {$streams[self::STDERR]}");
        }
        return HttpResponse::parse($streams[self::STDOUT]);
    }

    private function send(int $type, string $contents): void
    {
        fwrite($this->socket, pack('CCnnCx', 1, $type, 1, strlen($contents), 0) . $contents);
    }

    private static function pair(string $name, string $value): string
    {
        return pack('NN', strlen($name) | 1 << 31, strlen($value) | 1 << 31) . $name . $value;
    }

    private function read(int $count): string
    {
        $bytes = '';
        while (strlen($bytes) < $count) {
            $more = fread($this->socket, $count - strlen($bytes));
            if ($more === false || $more === '') {
                throw new \RuntimeException('php-fpm closed the connection or was too slow');
            }
            $bytes .= $more;
        }
        return $bytes;
    }
}
