<?php

declare(strict_types=1);

namespace Sluice\Symfony;

use Closure;
use DateTimeImmutable;
use LogicException;
use Sluice\Http\Key;
use Sluice\Limit;
use Sluice\RateLimiter;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Policy\NoLimiter;

/**
 * Makes limiters of one configured limiter of `framework.rate_limiter`.
 *
 * ```php
 * $factory = new LimiterFactory(
 *     ['id' => 'api', 'policy' => 'sliding_window', 'limit' => 100, 'interval' => '1 minute'],
 *     fn () => new Limiter(),
 * );
 * $factory->create($request->getClientIp())->consume()->ensureAccepted();
 * ```
 */
final class LimiterFactory implements FactoryContract
{
    /**
     * @param array{
     *     id?: string, policy?: string, limit?: int, interval?: string,
     *     rate?: array{interval?: string, amount?: int}
     * } $config `id`; `policy`: `token_bucket`,
     *        `fixed_window`, `sliding_window` or `no_limit`; `limit`; `interval`
     *        of a window, or `rate` with `interval` and `amount` of a bucket, as
     *        Symfony's configuration has them
     * @param Closure(): RateLimiter $limiter
     */
    public function __construct(
        private readonly array $config,
        private readonly Closure $limiter,
    ) {
    }

    /**
     * @param string|null $key who is limited: any bytes
     * @throws LogicException for a configuration that is none
     */
    public function create(?string $key = null): LimiterInterface
    {
        // Where that was allowed, and said aloud: see SluiceBundle.
        if (!extension_loaded('sluice')) {
            return new NoLimiter();
        }
        $id = (string) ($this->config['id'] ?? '');
        $limit = $this->limit();
        // Only for people to read: the key has it too.
        if (preg_match('#^[A-Za-z._:/-][\w.:/-]{0,127}$#', $id) === 1) {
            $limit = $limit->named($id);
        }
        $policy = $this->config['policy'] ?? null;
        return new EngineLimiter(
            ($this->limiter)(),
            $limit,
            Key::of('symfony', $id, (string) $key),
            $policy === 'no_limit' ? PHP_INT_MAX : (int) ($this->config['limit'] ?? 0),
            books: in_array($policy, ['token_bucket', 'no_limit'], true),
        );
    }

    private function limit(): Limit
    {
        $config = $this->config + ['policy' => null, 'limit' => null, 'interval' => null, 'rate' => null];
        if ($config['policy'] === 'no_limit') {
            return Limit::none();
        }
        $limit = $config['limit'];
        if (!is_int($limit)) {
            throw $this->wrong('"limit" must be a whole number');
        }
        return match ($config['policy']) {
            'token_bucket' => Limit::tokenBucket(
                $limit,
                $config['rate']['amount'] ?? 1,
                per: $this->seconds($config['rate']['interval'] ?? null, 'rate.interval'),
            ),
            'fixed_window' => Limit::fixedWindow($limit, $this->seconds($config['interval'], 'interval')),
            'sliding_window' => Limit::slidingWindow($limit, $this->seconds($config['interval'], 'interval')),
            default => throw $this->wrong(
                '"policy" must be "token_bucket", "fixed_window", "sliding_window" or "no_limit"'
            ),
        };
    }

    /**
     * An interval is as long as it is from the first of January on, a month 31
     * days, whatever day it is: a window that changed its length would start
     * anew.
     */
    private function seconds(mixed $interval, string $name): int
    {
        $then = is_string($interval) ? @(new DateTimeImmutable('@0'))->modify("+{$interval}") : false;
        if ($then === false || $then->getTimestamp() <= 0) {
            throw $this->wrong("\"{$name}\" must be an interval such as \"15 minutes\"");
        }
        return $then->getTimestamp();
    }

    private function wrong(string $what): LogicException
    {
        return new LogicException(sprintf('The rate limiter "%s": %s.', $this->config['id'] ?? '', $what));
    }
}
