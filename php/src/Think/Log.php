<?php

declare(strict_types=1);

namespace Sluice\Think;

use Psr\Log\AbstractLogger;
use Psr\Log\LoggerInterface;

/**
 * ThinkPHP's log, with the context in the line: by itself it writes down the
 * message only.
 */
final class Log extends AbstractLogger
{
    public function __construct(private readonly LoggerInterface $logger)
    {
    }

    /**
     * @param mixed $level
     * @param string|\Stringable $message
     * @param array<array-key, mixed> $context
     */
    public function log($level, $message, array $context = []): void
    {
        $told = array_filter($context, static fn (mixed $value): bool => $value !== null);
        $flags = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE
            | JSON_INVALID_UTF8_SUBSTITUTE | JSON_PARTIAL_OUTPUT_ON_ERROR;
        $this->logger->log($level, (string) $message . ($told === [] ? '' : ' ' . (string) json_encode($told, $flags)));
    }
}
