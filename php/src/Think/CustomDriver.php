<?php

declare(strict_types=1);

namespace Sluice\Think;

use Psr\SimpleCache\CacheInterface;
use think\Container;
use TypeError;

/**
 * A driver class of the application's own, which counts in the cache as it did
 * under think-throttle.
 */
final class CustomDriver
{
    private const PARENT = 'think\middleware\throttle\ThrottleAbstract';

    /** @param string|null $message of a refusal; null: `visit_fail_text` */
    public function __construct(
        private readonly string $class,
        private readonly string $key,
        private readonly Rate $rate,
        public readonly ?string $message = null,
    ) {
    }

    /**
     * Seconds to wait; null if the request may go on.
     *
     * @param array<string, string> $headers that tell where the client stands, if it may
     * @throws TypeError if the class is no driver
     */
    public function ask(CacheInterface $cache, array &$headers): ?int
    {
        $driver = class_exists($this->class) ? Container::getInstance()->invokeClass($this->class) : null;
        if (!is_object($driver) || !is_a($driver, self::PARENT)) {
            throw new TypeError("the driver \"{$this->class}\" must be a class that extends " . self::PARENT);
        }
        $now = microtime(true);
        // A key for a cache: PSR-16 lets it have 64 characters of a few kinds.
        $key = hash('sha256', $this->key . $this->class);
        if (!$driver->allowRequest($key, $now, $this->rate->requests, $this->rate->seconds, $cache)) {
            return $driver->getWaitSeconds();
        }
        $headers = [
            'X-Rate-Limit-Limit' => (string) $this->rate->requests,
            'X-Rate-Limit-Remaining' => (string) max(0, $this->rate->requests - $driver->getCurRequests()),
            'X-Rate-Limit-Reset' => (string) ((int) $now + $this->rate->seconds),
        ];
        return null;
    }
}
