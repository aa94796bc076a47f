<?php

declare(strict_types=1);

namespace Sluice\Laravel\Events;

/**
 * A request was refused, or would have been in observe mode. At most one a key
 * and `sluice.log.interval`.
 *
 * ```php
 * Event::listen(fn (RequestDenied $denied) => Metrics::count('429', $denied->context['route']));
 * ```
 *
 * Plain data, so that a listener may wait in a queue.
 */
final class RequestDenied
{
    /**
     * @param array{key: string, user: ?string, ip: string, route: string, remaining: ?int,
     *     capacity: ?int, rate: string, uri: string, method: string, policy: string,
     *     retry_after: ?float, source: ?string} $context what the log line has
     */
    public function __construct(public readonly array $context)
    {
    }
}
