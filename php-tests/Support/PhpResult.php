<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** How a PHP process ended. */
final class PhpResult
{
    public function __construct(
        public readonly int $exitCode,
        public readonly string $stdout,
        /** PHP's own messages are here too, and nowhere else. */
        public readonly string $stderr,
    ) {
    }

    /** What it printed, if it was JSON and nothing went wrong. */
    public function json(): mixed
    {
        if ($this->exitCode !== 0 || $this->stderr !== '') {
            throw new \RuntimeException(
                "PHP ended with {$this->exitCode}\n{$this->stderr}\n{$this->stdout}",
            );
        }
        try {
            return json_decode($this->stdout, true, flags: JSON_THROW_ON_ERROR);
        } catch (\JsonException $exception) {
            throw new \RuntimeException("not JSON: {$this->stdout}", previous: $exception);
        }
    }
}
