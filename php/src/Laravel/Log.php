<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Illuminate\Container\Container;
use Illuminate\Log\LogManager;
use Psr\Log\AbstractLogger;
use Psr\Log\LoggerInterface;

/**
 * A channel of config/logging.php that is opened only when there is something
 * to write.
 */
final class Log extends AbstractLogger
{
    private function __construct(private readonly ?string $channel)
    {
    }

    /** @param string|false|null $channel null is the default one, false is none */
    public static function channel(string|false|null $channel): ?LoggerInterface
    {
        return $channel === false ? null : new self($channel);
    }

    /**
     * @param mixed $level
     * @param string|\Stringable $message
     * @param array<array-key, mixed> $context
     */
    public function log($level, $message, array $context = []): void
    {
        // The container of now: under Octane each request has its own.
        $log = Container::getInstance()->make(LogManager::class);
        $log->channel($this->channel)->log($level, $message, $context);
    }
}
