<?php

declare(strict_types=1);

namespace Shop;

use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\RateLimiter\CompoundLimiter;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactory;

/** Asks for limiters as Symfony's documentation has it, by its final class. */
final class Pages
{
    public function __construct(
        private RateLimiterFactory $fixedLimiter,
        private RateLimiterFactory $slidingLimiter,
        private RateLimiterFactory $bucketLimiter,
        private RateLimiterFactory $freeLimiter,
    ) {
    }

    public function page(Request $request, string $name): JsonResponse
    {
        $limit = $this->limiter($request, $name)->consume((int) $request->query->get('tokens', '1'))->ensureAccepted();
        return new JsonResponse([$limit->getRemainingTokens(), $limit->getLimit()]);
    }

    public function look(Request $request, string $name): JsonResponse
    {
        $limit = $this->limiter($request, $name)->consume(0);
        return new JsonResponse([$limit->isAccepted(), $limit->getRemainingTokens(), $limit->getLimit()]);
    }

    public function reset(Request $request, string $name): JsonResponse
    {
        $this->limiter($request, $name)->reset();
        return new JsonResponse('reset');
    }

    public function security(): JsonResponse
    {
        return new JsonResponse(Kernel::hasSecurity());
    }

    public function login(): JsonResponse
    {
        return new JsonResponse('welcome');
    }

    private function limiter(Request $request, string $name): LimiterInterface
    {
        if ($name === 'compound') {
            $class = getenv('SLUICE') ? \Sluice\Symfony\CompoundLimiter::class : CompoundLimiter::class;
            $limiters = [$this->limiter($request, 'fixed'), $this->limiter($request, 'bucket')];
            return getenv('SLUICE') ? new $class(...$limiters) : new $class($limiters);
        }
        return $this->{"{$name}Limiter"}->create($request->getClientIp());
    }
}
