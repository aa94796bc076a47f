<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A response, whichever way it came. */
final class HttpResponse
{
    /** @param array<string, string> $headers by name in lower case */
    private function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
    ) {
    }

    /** Reads headers, an empty line, and a body. */
    public static function parse(string $text): self
    {
        [$head, $body] = explode("\r\n\r\n", $text, 2) + [1 => ''];
        $status = 200;
        $headers = [];
        foreach (explode("\r\n", $head) as $line) {
            if (preg_match('#^(?:HTTP/\S+|Status:) (\d+)#', $line, $found)) {
                $status = (int) $found[1];
            } elseif (str_contains($line, ': ')) {
                [$name, $value] = explode(': ', $line, 2);
                $headers[strtolower($name)] = $value;
            }
        }
        return new self($status, $headers, $body);
    }

    public function json(): mixed
    {
        try {
            return json_decode($this->body, true, flags: JSON_THROW_ON_ERROR);
        } catch (\JsonException $exception) {
            throw new \RuntimeException("not JSON: {$this->body}", previous: $exception);
        }
    }
}
