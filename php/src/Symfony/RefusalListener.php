<?php

declare(strict_types=1);

namespace Sluice\Symfony;

use Symfony\Component\HttpKernel\Event\ExceptionEvent;
use Symfony\Component\HttpKernel\Exception\TooManyRequestsHttpException;
use Symfony\Component\RateLimiter\Exception\RateLimitExceededException;

/**
 * Makes `ensureAccepted()` a 429 with headers, rendered as the application
 * renders its errors, where it would be a 500.
 */
final class RefusalListener
{
    public function __invoke(ExceptionEvent $event): void
    {
        $refused = $event->getThrowable();
        if (!$refused instanceof RateLimitExceededException) {
            return;
        }
        $limit = $refused->getRateLimit();
        $headers = $limit instanceof EngineRateLimit ? $limit->headers() : [];
        $event->setThrowable(new TooManyRequestsHttpException(
            $headers['Retry-After'] ?? null,
            'Too Many Requests',
            $refused,
            headers: $headers,
        ));
    }
}
