<?php

declare(strict_types=1);

namespace Sluice\Psr15;

use Psr\Http\Message\StreamInterface;
use Sluice\Http\Verdict;

/**
 * A body that gives the permits of its request back when it has been sent.
 *
 * The host sends it after all middleware has returned: at its end, when it is
 * closed, or when it is dropped, whatever comes first. Whoever streams for a
 * minute holds the slot for a minute.
 *
 * The parameters have no types so that versions 1 and 2 of psr/http-message
 * both agree.
 */
final class HeldBody implements StreamInterface
{
    public function __construct(
        private readonly StreamInterface $body,
        private readonly Verdict $verdict,
    ) {
    }

    public function __destruct()
    {
        $this->verdict->release();
    }

    public function __toString(): string
    {
        $text = (string) $this->body;
        $this->verdict->release();
        return $text;
    }

    public function close(): void
    {
        $this->verdict->release();
        $this->body->close();
    }

    /** @return resource|null */
    public function detach()
    {
        $this->verdict->release();
        return $this->body->detach();
    }

    public function getSize(): ?int
    {
        return $this->body->getSize();
    }

    public function tell(): int
    {
        return $this->body->tell();
    }

    public function eof(): bool
    {
        $ended = $this->body->eof();
        if ($ended) {
            $this->verdict->release();
        }
        return $ended;
    }

    public function isSeekable(): bool
    {
        return $this->body->isSeekable();
    }

    /**
     * @param int $offset
     * @param int $whence
     */
    public function seek($offset, $whence = SEEK_SET): void
    {
        $this->body->seek($offset, $whence);
    }

    public function rewind(): void
    {
        $this->body->rewind();
    }

    public function isWritable(): bool
    {
        return $this->body->isWritable();
    }

    /** @param string $string */
    public function write($string): int
    {
        return $this->body->write($string);
    }

    public function isReadable(): bool
    {
        return $this->body->isReadable();
    }

    /** @param int $length */
    public function read($length): string
    {
        return $this->body->read($length);
    }

    public function getContents(): string
    {
        $text = $this->body->getContents();
        $this->verdict->release();
        return $text;
    }

    /**
     * @param string|null $key
     * @return mixed
     */
    public function getMetadata($key = null)
    {
        return $this->body->getMetadata($key);
    }
}
