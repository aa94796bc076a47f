<?php

declare(strict_types=1);

namespace Sluice\Guzzle;

use Closure;
use GuzzleHttp\Exception\RequestException;
use GuzzleHttp\Promise\Create;
use GuzzleHttp\Promise\PromiseInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;
use Sluice\Failure;
use Sluice\Http\Key;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\RateLimiter;
use Sluice\StoreException;
use Throwable;
use ValueError;

/**
 * Keeps what is sent to a partner within the partner's quota: for all workers
 * and hosts that share the store.
 *
 * ```php
 * $stack = HandlerStack::create();
 * $stack->push(new OutboundLimiter(['api.partner.com' => '10/s burst 20'], maxWait: 5.0), 'sluice');
 * $client = new Client(['handler' => $stack]);
 * ```
 *
 * Push it last: then it is next to the wire, and redirects and retries are
 * counted too.
 *
 * A request that has to wait is booked and sent with Guzzle's `delay`, so that
 * others go on meanwhile; the later of that and a `delay` of the caller's
 * counts. One that would have to wait longer is not sent: its promise is
 * rejected with an {@see OutboundLimitException}. An answer 429 or 503 with
 * `Retry-After` keeps everybody away from that host for so long.
 */
final class OutboundLimiter
{
    /** Seconds, unless the caller set them: a partner that hangs must not hang us. */
    private const TIMEOUTS = ['timeout' => 3.0, 'connect_timeout' => 1.0];
    /** The longest `Retry-After` that is believed, in seconds: a day. */
    private const LONGEST_HOLD = 86_400;

    /** @var array<string, Partner> by host in lower case; "*" for all others */
    private readonly array $partners;

    /**
     * @param array<string, string|Limit|list<string|Limit>> $partners limits by
     *        host: a spec, a policy's name or a {@see Limit}, or several that
     *        are all to be kept. `"*"` stands for each host not named; without
     *        it those are left alone. Only token and leaky buckets can wait;
     *        a window, quota or concurrency limit that is used up refuses.
     *        A permit is held until the answer is there
     * @param float $maxWait the longest wait in seconds; 0 refuses at once
     * @param RateLimiter $limiter by default on the store of php.ini
     * @param Failure $onFailure what to do while the store cannot be asked: by
     *        default nothing is sent, for a quota overrun may cost the contract
     * @param (Closure(RequestInterface): string)|null $by what shares a quota
     *        within a host, such as an API key; by default all of it
     * @throws ValueError for what is no limit, or a negative wait
     */
    public function __construct(
        array $partners,
        private readonly float $maxWait = 0.0,
        private readonly RateLimiter $limiter = new Limiter(),
        Failure $onFailure = Failure::Deny,
        private readonly ?Closure $by = null,
    ) {
        if ($maxWait < 0.0) {
            throw new ValueError("maxWait must be 0 or more seconds, {$maxWait} given");
        }
        $read = [];
        foreach ($partners as $host => $limits) {
            $host = self::host((string) $host);
            $read[$host] = new Partner($host, is_array($limits) ? array_values($limits) : [$limits], $onFailure);
        }
        $this->partners = $read;
    }

    /**
     * Guzzle's side of it.
     *
     * @param callable(RequestInterface, array<array-key, mixed>): PromiseInterface $handler
     * @return Closure(RequestInterface, array<array-key, mixed>): PromiseInterface
     */
    public function __invoke(callable $handler): Closure
    {
        return function (RequestInterface $request, array $options) use ($handler): PromiseInterface {
            $partner = $this->partner($request);
            if ($partner === null) {
                return $handler($request, $options);
            }
            try {
                $booking = new Booking($this->limiter, $partner, $this->key($request), $this->maxWait);
            } catch (StoreException $fault) {
                return Create::rejectionFor($fault);
            }
            if ($booking->refusedBy !== null) {
                return Create::rejectionFor(new OutboundLimitException($request, $booking->refusedBy));
            }
            // Milliseconds, and not one too early.
            $wait = (int) ceil($booking->delay * 1000);
            $set = $options['delay'] ?? 0;
            if ($wait > (is_numeric($set) ? $set : 0)) {
                $options['delay'] = $wait;
            }
            try {
                $promise = $handler($request, $options + self::TIMEOUTS);
            } catch (Throwable $error) {
                $booking->release();
                throw $error;
            }
            return $promise->then(
                function (ResponseInterface $response) use ($booking): ResponseInterface {
                    $booking->release();
                    $this->heed($response, $booking);
                    return $response;
                },
                function (mixed $reason) use ($booking): PromiseInterface {
                    $booking->release();
                    $response = $reason instanceof RequestException ? $reason->getResponse() : null;
                    if ($response !== null) {
                        $this->heed($response, $booking);
                    }
                    return Create::rejectionFor($reason);
                },
            );
        };
    }

    /**
     * Forgets what was sent to whom this request goes, and how long he asked to
     * be left alone: for when he says that it was a mistake.
     *
     * ```php
     * $limiter->reset(new Request('GET', 'https://api.partner.com/'));
     * ```
     */
    public function reset(RequestInterface $request): void
    {
        foreach ($this->partner($request)->terms ?? [] as ['limit' => $limit]) {
            $this->limiter->reset($this->key($request), $limit);
        }
    }

    private function partner(RequestInterface $request): ?Partner
    {
        return $this->partners[self::host($request->getUri()->getHost())] ?? $this->partners['*'] ?? null;
    }

    private function heed(ResponseInterface $response, Booking $booking): void
    {
        $seconds = RetryAfter::of($response);
        if ($seconds !== null && $seconds > 0) {
            try {
                $booking->holdBack(min($seconds, self::LONGEST_HOLD));
            } catch (StoreException) {
                // The answer is there, and worth more than the note of it.
            }
        }
    }

    private function key(RequestInterface $request): string
    {
        $uri = $request->getUri();
        $parts = ['outbound', self::host($uri->getHost())];
        return Key::of(...$parts, ...($this->by === null ? [] : [($this->by)($request)]));
    }

    private static function host(string $host): string
    {
        return rtrim(strtolower($host), '.');
    }
}
