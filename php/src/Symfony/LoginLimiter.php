<?php

declare(strict_types=1);

namespace Sluice\Symfony;

use Sluice\ClientAddress;
use Sluice\Http\Key;
use Symfony\Component\HttpFoundation\RateLimiter\AbstractRequestRateLimiter;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\Policy\NoLimiter;
use Symfony\Component\RateLimiter\RateLimit;

/**
 * The limits of `login_throttling`: attempts on one account from one address,
 * and five times as many on all accounts from it.
 *
 * Takes the place of Symfony's DefaultLoginRateLimiter. Both limits are one
 * decision, an IPv6 client is its /64, and names are never shortened, so no two
 * share a count. A login that succeeds forgets the attempts on its account and
 * counts for nothing itself, but what the address tried on others stays: else
 * whoever has one account could try all.
 */
final class LoginLimiter extends AbstractRequestRateLimiter
{
    /** Where Symfony keeps the name that was tried, whatever its version. */
    private const LAST_USERNAME = '_security.last_username';
    /** Where what was taken for a request is kept. */
    private const TAKEN = '_sluice.login';

    public function __construct(
        private readonly FactoryContract $byAddress,
        private readonly FactoryContract $byAccount,
    ) {
    }

    public function consume(Request $request): RateLimit
    {
        $taken = parent::consume($request);
        $request->attributes->set(self::TAKEN, $taken);
        return $taken;
    }

    public function reset(Request $request): void
    {
        $taken = $request->attributes->get(self::TAKEN);
        foreach ($this->getLimiters($request) as $limiter) {
            if ($taken instanceof EngineRateLimit && $limiter instanceof CompoundLimiter) {
                $limiter->refund($taken);
            }
        }
        if (extension_loaded('sluice')) {
            $this->account($request)->reset();
        }
    }

    /** @return list<LimiterInterface> */
    protected function getLimiters(Request $request): array
    {
        // Where that was allowed, and said aloud: see SluiceBundle.
        if (!extension_loaded('sluice')) {
            return [new NoLimiter()];
        }
        $address = $this->byAddress->create(self::address($request));
        return [new CompoundLimiter($address, $this->account($request))];
    }

    private function account(Request $request): LimiterInterface
    {
        $name = (string) $request->attributes->get(self::LAST_USERNAME, '');
        $name = function_exists('mb_strtolower') && preg_match('//u', $name) === 1
            ? mb_strtolower($name, 'UTF-8')
            : strtolower($name);
        return $this->byAccount->create(Key::of($name, self::address($request)));
    }

    private static function address(Request $request): string
    {
        return ClientAddress::network((string) $request->getClientIp());
    }
}
