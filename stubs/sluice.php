<?php

/**
 * What the extension declares, for editors and analysers.
 *
 * PHP never loads this file. A test compares it with Reflection, in both
 * directions.
 *
 * Words that come back everywhere:
 *
 * - **key**: says who is limited. Any bytes of any length, such as
 *   `"login:$ip"`. Two different keys never share a count.
 * - **token**: what a request takes from a limit; one, if nothing else is said.
 * - Times are seconds, as `float`, exact to the microsecond.
 */

namespace Sluice {

    /**
     * Token bucket: lets bursts through up to a capacity, and a steady rate
     * beyond that.
     *
     * A bucket holds at most `$capacity` tokens and gets `$rate` new ones a
     * second. A request takes its tokens or, if they are not all there, takes
     * nothing and is refused. Over any time T, however many processes ask, no
     * more than `capacity + rate * T` tokens are given out.
     *
     * What was spent is counted as a debt in whole tokens and time in whole
     * microseconds, so no fraction of a token is ever rounded away. Capacity and
     * rate belong to the call, not to the stored state: other numbers apply from
     * the next call on, and neither give away nor forget what was spent.
     *
     * ```php
     * $limiter = new TokenBucketLimiter();
     * if (!$limiter->allow("api:$user", capacity: 100, rate: 20)) {
     *     http_response_code(429);
     *     exit;
     * }
     * ```
     *
     * An object is cheap: it opens nothing, and connections belong to the worker
     * process and outlive it. It cannot be cloned or serialized.
     *
     * @see https://en.wikipedia.org/wiki/Token_bucket the algorithm
     * @see https://www.itu.int/rec/T-REC-I.371 GCRA, its form that keeps one
     *      point in time instead of a debt; there a changed rate revalues what
     *      was spent before
     */
    final class TokenBucketLimiter
    {
        /**
         * Chooses the store that is asked.
         *
         * - `null`: the one of php.ini's `sluice.store`, which is this host's
         *   shared memory unless it names a Redis.
         * - a DSN: `redis://[user[:password]@]host[:port][/db]` or
         *   `unix:///path[?db=n]`, with the options of {@see Store::redis()} as
         *   a query. Nothing is connected before the first call.
         * - a connected `\Redis` object: its server, login, database and key
         *   prefix are taken over. Its socket stays its own.
         * - a {@see Store}.
         *
         * ```php
         * $limiter = new TokenBucketLimiter('redis://:s3cret@10.0.0.5/2?timeout=20ms');
         * ```
         *
         * @throws ConfigException if the text is no DSN, or the `\Redis` object
         *                         is not connected or hides where it is
         */
        public function __construct(
            #[\SensitiveParameter] \Redis|Store|string|null $store = null,
        ) {
        }

        /**
         * Takes tokens if they are there, and says whether they were.
         *
         * The shortest way to ask. {@see attempt()} tells more.
         *
         * ```php
         * $limiter->allow('report', capacity: 5, rate: 1 / 60); // five, then one a minute
         * ```
         *
         * @param string    $key       who is limited
         * @param int       $capacity  most tokens at once, from 0 to 32 000 000;
         *                             0 refuses everything
         * @param int|float $rate      tokens per second: 0, which refuses
         *                             everything, or from one in 366 days
         *                             (1 / 31 622 400) to 1 000 000. A float
         *                             means the simplest fraction it stands for:
         *                             `1 / 3` is exactly a third.
         * @param int       $requested tokens to take, from 0 on; 0 takes nothing
         *                             and passes unless the bucket is in debt
         *
         * @return bool true if the request may go on
         *
         * @throws \ValueError    if a number is out of its range, or filling the
         *                        bucket would take more than 285 years
         * @throws StoreException if the store cannot be asked and
         *                        `sluice.on_failure` is `throw`
         */
        public function allow(string $key, int $capacity, int|float $rate, int $requested = 1): bool
        {
        }

        /**
         * Takes tokens if they are there, and tells all about it.
         *
         * ```php
         * $decision = $limiter->attempt('export', 10, 0.5, requested: 3);
         * if (!$decision->allowed) {
         *     sleep((int) ceil($decision->retryAfter));
         * }
         * ```
         *
         * @param string    $key       who is limited
         * @param int       $capacity  most tokens at once, from 0 to 32 000 000
         * @param int|float $rate      tokens per second, as for {@see allow()}
         * @param int       $requested tokens to take, from 0 on
         *
         * @throws \ValueError    as {@see allow()}
         * @throws StoreException as {@see allow()}
         */
        public function attempt(string $key, int $capacity, int|float $rate, int $requested = 1): Decision
        {
        }

        /**
         * Answers as {@see attempt()} would, and takes nothing.
         *
         * ```php
         * echo $limiter->peek('export', 10, 0.5)->remaining, ' exports left';
         * ```
         *
         * @param string    $key       who is limited
         * @param int       $capacity  most tokens at once, from 0 to 32 000 000
         * @param int|float $rate      tokens per second, as for {@see allow()}
         * @param int       $requested tokens that would be taken, from 0 on
         *
         * @throws \ValueError    as {@see allow()}
         * @throws StoreException as {@see allow()}
         */
        public function peek(string $key, int $capacity, int|float $rate, int $requested = 1): Decision
        {
        }

        /**
         * Fills the bucket of this key: what was spent is forgotten.
         *
         * ```php
         * $limiter->reset("login:$user"); // signed in, so earlier failures do not count
         * ```
         *
         * @param string $key who is limited
         *
         * @throws StoreException if the store cannot be asked and
         *                        `sluice.on_failure` is `throw`
         */
        public function reset(string $key): void
        {
        }
    }

    /**
     * Fixed window: so many in a window that starts with the first admitted
     * request.
     *
     * The window is not aligned to the clock. It ends `$window` seconds after
     * the request that opened it, whatever happens in between; refused requests
     * neither prolong it nor count. Up to twice the limit may pass within one
     * length of the window where one window ends and the next begins; a
     * {@see TokenBucketLimiter} has no such edge.
     *
     * Windows of different lengths on one key are counted apart. The limit may
     * change from call to call and applies to what the window has already seen.
     *
     * ```php
     * $limiter = new FixedWindowLimiter();
     * $limiter->allow("sms:$phone", limit: 1, window: 60); // one a minute
     * ```
     *
     * As with every limiter, an object is cheap, and cannot be cloned or
     * serialized.
     */
    final class FixedWindowLimiter
    {
        /**
         * Chooses the store that is asked, as
         * {@see TokenBucketLimiter::__construct()} does.
         *
         * ```php
         * $limiter = new FixedWindowLimiter(Store::sharedMemory());
         * ```
         *
         * @throws ConfigException if the text is no DSN, or the `\Redis` object
         *                         is not connected or hides where it is
         */
        public function __construct(
            #[\SensitiveParameter] \Redis|Store|string|null $store = null,
        ) {
        }

        /**
         * Takes tokens if they are there, and says whether they were.
         *
         * ```php
         * $limiter->allow("login:$ip", 10, 300);
         * ```
         *
         * @param string    $key       who is limited
         * @param int       $limit     tokens in one window, from 0 to 32 000 000;
         *                             0 refuses everything
         * @param int|float $window    its length in seconds, from 0.000001 to
         *                             31 622 400 (366 days)
         * @param int       $requested tokens to take, from 0 on; 0 takes nothing
         *
         * @return bool true if the request may go on
         *
         * @throws \ValueError    if a number is out of its range
         * @throws StoreException if the store cannot be asked and
         *                        `sluice.on_failure` is `throw`
         */
        public function allow(string $key, int $limit, int|float $window = 1, int $requested = 1): bool
        {
        }

        /**
         * Takes tokens if they are there, and tells all about it.
         *
         * ```php
         * $limiter->attempt("login:$ip", 10, 300)->send();
         * ```
         *
         * @param string    $key       who is limited
         * @param int       $limit     tokens in one window, from 0 to 32 000 000
         * @param int|float $window    its length in seconds, from 0.000001 to
         *                             31 622 400 (366 days)
         * @param int       $requested tokens to take, from 0 on
         *
         * @throws \ValueError    as {@see allow()}
         * @throws StoreException as {@see allow()}
         */
        public function attempt(string $key, int $limit, int|float $window = 1, int $requested = 1): Decision
        {
        }

        /**
         * Answers as {@see attempt()} would, and takes nothing.
         *
         * ```php
         * $left = $limiter->peek("login:$ip", 10, 300)->remaining;
         * ```
         *
         * @param string    $key       who is limited
         * @param int       $limit     tokens in one window, from 0 to 32 000 000
         * @param int|float $window    its length in seconds, from 0.000001 to
         *                             31 622 400 (366 days)
         * @param int       $requested tokens that would be taken, from 0 on
         *
         * @throws \ValueError    as {@see allow()}
         * @throws StoreException as {@see allow()}
         */
        public function peek(string $key, int $limit, int|float $window = 1, int $requested = 1): Decision
        {
        }

        /**
         * Ends the window of this key: the next request opens a new one.
         *
         * Windows are told apart by their length, so it has to be the one that
         * the requests were counted under.
         *
         * ```php
         * $limiter->reset("login:$ip", 300);
         * ```
         *
         * @param string    $key    who is limited
         * @param int|float $window the window's length in seconds, from 0.000001
         *                          to 31 622 400 (366 days)
         *
         * @throws \ValueError    if the window is out of its range
         * @throws StoreException if the store cannot be asked and
         *                        `sluice.on_failure` is `throw`
         */
        public function reset(string $key, int|float $window = 1): void
        {
        }
    }

    /**
     * The answer to one request: may it go on, how much is left, and when to
     * come back.
     *
     * A refusal is a value, not an exception. All figures are those right after
     * the request was decided.
     *
     * ```php
     * $decision = $limiter->attempt("api:$user", 100, 20);
     * $decision->send();
     * if (!$decision->allowed) {
     *     exit;
     * }
     * ```
     *
     * A decision is made by a limiter only, and cannot be changed, cloned or
     * serialized; {@see toArray()} is what to keep of it.
     */
    final class Decision implements \JsonSerializable
    {
        /** Whether the request may go on. */
        public readonly bool $allowed;

        /** The capacity or limit that was applied, `sluice.scale` included. */
        public readonly int $limit;

        /** Whole tokens left, from 0 to {@see $limit}. */
        public readonly int $remaining;

        /**
         * Seconds until the same request would pass, if nobody else asks
         * meanwhile.
         *
         * 0.0 if it passed; null if it never can, because it asks for more than
         * the limit ever holds.
         */
        public readonly ?float $retryAfter;

        /** Seconds until nothing counts as spent any more. */
        public readonly float $resetAfter;

        /** Seconds to wait before acting on an allowed request; 0.0 for the limiters of this version. */
        public readonly float $delay;

        /**
         * Whether the request went through only because `sluice.mode` is
         * `observe`.
         *
         * Then {@see $allowed} is true, and this is true as well.
         */
        public readonly bool $wouldDeny;

        /** The key as it was passed in, byte for byte. */
        public readonly string $key;

        /** The name of the policy that was applied; empty for numbers given in the call. */
        public readonly string $policy;

        /** Who decided. */
        public readonly Source $source;

        /** The slot that a concurrency limit gave out; null for all other limits. */
        public readonly ?Permit $permit;

        /**
         * The decisions this one was put together from; empty if it stands for
         * itself.
         *
         * @var list<Decision>
         */
        public readonly array $parts;

        /** Only limiters make decisions. */
        private function __construct()
        {
        }

        /**
         * The response headers that tell a client where it stands.
         *
         * `sluice.headers` chooses the families: `ietf` for `RateLimit-Policy`
         * and `RateLimit` of the IETF's draft, `x` for `X-RateLimit-Limit`,
         * `X-RateLimit-Remaining` and `X-RateLimit-Reset` (a Unix time). A
         * refusal also has `Retry-After`: whole seconds, rounded up, at least 1,
         * and left out if the request can never pass.
         *
         * ```php
         * foreach ($decision->headers() as $name => $value) {
         *     $response = $response->withHeader($name, $value);
         * }
         * ```
         *
         * @return array<string, string> values by name
         *
         * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
         */
        public function headers(): array
        {
        }

        /**
         * All properties by name, with the source as its text.
         *
         * ```php
         * $logger->info('rate limit', $decision->toArray());
         * ```
         *
         * @return array{
         *     allowed: bool, limit: int, remaining: int, retryAfter: ?float,
         *     resetAfter: float, delay: float, wouldDeny: bool, key: string,
         *     policy: string, source: string, permit: null, parts: list<Decision>
         * }
         */
        public function toArray(): array
        {
        }

        /**
         * Sends the headers and, for a refusal, status 429 and a body in JSON.
         *
         * For plain PHP without a framework. The body is a problem document
         * (RFC 9457) of the type `quota-exceeded`. The script goes on
         * afterwards; leave it yourself.
         *
         * ```php
         * $decision->send();
         * $decision->allowed || exit;
         * ```
         *
         * @see https://www.rfc-editor.org/rfc/rfc9457
         */
        public function send(): void
        {
        }

        /**
         * What `json_encode()` makes of it: the same as {@see toArray()}.
         *
         * JSON is text. A key that is not UTF-8 needs one of the flags
         * `JSON_INVALID_UTF8_*`.
         *
         * ```php
         * echo json_encode($decision, JSON_INVALID_UTF8_SUBSTITUTE);
         * ```
         *
         * @return array<string, mixed>
         */
        public function jsonSerialize(): array
        {
        }
    }

    /**
     * Where state lives: shared memory, Redis, or this process alone.
     *
     * Pass one to a limiter to choose its store, or put a fake in the default's
     * place in a test. It cannot be cloned or serialized.
     */
    final class Store
    {
        /** Stores are made by the static methods. */
        private function __construct()
        {
        }

        /**
         * This host's shared memory.
         *
         * All workers of one php-fpm share it. `sluice.shm_path` names a file by
         * which several pools and command-line scripts do too; a script without
         * that has memory of its own.
         *
         * ```php
         * $limiter = new TokenBucketLimiter(Store::sharedMemory());
         * ```
         */
        public static function sharedMemory(): Store
        {
        }

        /**
         * A Redis, with this host's shared memory to fall back on.
         *
         * One connection per worker and DSN is opened at the first call and kept
         * over requests. What happens while Redis cannot be asked is up to
         * `sluice.on_failure`.
         *
         * ```php
         * $store = Store::redis('redis://cache.internal', [
         *     'password' => getenv('REDIS_PASSWORD'),
         *     'timeout' => '20ms',
         * ]);
         * ```
         *
         * @param string $dsn     `redis://[user[:password]@]host[:port][/db]` or
         *                        `unix:///path`; options may follow as a query
         * @param array{
         *     db?: int|string, user?: string, password?: string, prefix?: string,
         *     timeout?: string|int|float, connect_timeout?: string|int|float
         * } $options the same options, set apart; they win over the DSN's.
         *            A time is text such as `50ms`, `1s`, or a number of
         *            seconds, from 1 ms to 60 s.
         *
         * @throws ConfigException if the DSN or an option is wrong; the message
         *                         never repeats a password
         */
        public static function redis(
            #[\SensitiveParameter] string $dsn,
            #[\SensitiveParameter] array $options = [],
        ): Store {
        }

        /**
         * A new, empty store in this process alone, under real time.
         *
         * For tests, and for trying things out. {@see advance()} moves its clock
         * ahead.
         *
         * ```php
         * $limiter = new FixedWindowLimiter(Store::memory());
         * ```
         */
        public static function memory(): Store
        {
        }

        /**
         * Puts an empty store with a clock that stands still in the place of the
         * default one.
         *
         * Reaches every limiter without a store of its own, those made before
         * too, until {@see restore()} or the end of the request.
         *
         * ```php
         * $store = Store::fake();
         * $limiter = new TokenBucketLimiter();
         * assert($limiter->allow('k', 1, 1) && !$limiter->allow('k', 1, 1));
         * $store->advance(1);
         * assert($limiter->allow('k', 1, 1));
         * ```
         *
         * @param \DateTimeInterface|float|null $at the time it shows, as an
         *                                          object or in Unix seconds
         *                                          from 0 to 9 000 000 000; null
         *                                          is now
         *
         * @throws \ValueError if the time is out of that range
         */
        public static function fake(\DateTimeInterface|float|null $at = null): Store
        {
        }

        /**
         * Takes the fake away: the default store is that of php.ini again.
         *
         * ```php
         * protected function tearDown(): void
         * {
         *     Store::restore();
         * }
         * ```
         */
        public static function restore(): void
        {
        }

        /**
         * How the store does, for people and for monitoring.
         *
         * `store` is `shared-memory`, `redis` or `memory`. A Redis has its own
         * section, without the password, and that of the shared memory it falls
         * back on. Counts of connections, calls and faults are those of this
         * worker.
         *
         * ```php
         * $used = Store::sharedMemory()->status()['sharedMemory'];
         * printf('%d of %d slots', $used['live'], $used['slots']);
         * ```
         *
         * @return array{
         *     store: string,
         *     redis?: array{dsn: string, connected: bool, connections: int, calls: int, faults: int, lastFault: ?string},
         *     sharedMemory?: array{size: int, slots: int, live: int, evictions: int, path: ?string},
         *     keys?: int
         * }
         */
        public function status(): array
        {
        }

        /**
         * Moves the clock of a {@see fake()} or {@see memory()} store ahead.
         *
         * ```php
         * $store->advance(0.25);
         * ```
         *
         * @param float $seconds how far, from 0 to 9 000 000 000
         *
         * @throws \ValueError if the time is out of that range
         * @throws \Error      if the store's time is real
         */
        public function advance(float $seconds): void
        {
        }
    }

    /** Who made a decision. */
    enum Source: string
    {
        /** This host's shared memory. */
        case SharedMemory = 'shared-memory';

        /** Redis. */
        case Redis = 'redis';

        /** This host, from what Redis last said of the key. */
        case NearState = 'near-state';

        /** This host, from tokens that it took from Redis ahead of time. */
        case Lease = 'lease';

        /** This host alone, because Redis could not be asked. */
        case Fallback = 'fallback';

        /** Nobody: Redis could not be asked, and the policy is to let through. */
        case FailedOpen = 'failed-open';

        /** Nobody: Redis could not be asked, and the policy is to refuse. */
        case FailedClosed = 'failed-closed';

        /** This process alone. */
        case Memory = 'memory';
    }

    /** What is answered while Redis cannot be asked; the values of `sluice.on_failure`. */
    enum Failure: string
    {
        /** This host counts by itself, with `sluice.local_share` of each limit. */
        case Local = 'local';

        /** Every request is let through. */
        case Allow = 'allow';

        /** Every request is refused. */
        case Deny = 'deny';

        /** The caller gets a {@see StoreException}. */
        case Throw = 'throw';
    }

    /**
     * What all exceptions of this extension have in common.
     *
     * A number out of range is a `\ValueError` and a wrong type a `\TypeError`,
     * as everywhere in PHP; those are not among them.
     *
     * ```php
     * try {
     *     $limiter->allow($key, 10, 1);
     * } catch (\Sluice\Exception $exception) {
     *     error_log($exception->getMessage());
     * }
     * ```
     */
    interface Exception extends \Throwable
    {
    }

    /**
     * The store could not be asked.
     *
     * Thrown only if `sluice.on_failure` is `throw`. Whether tokens were taken is
     * unknown. The message names the server, and never a password.
     */
    class StoreException extends \RuntimeException implements Exception
    {
    }

    /**
     * What was given as a store cannot be used as one.
     *
     * The message says which part is wrong, and never repeats a password.
     */
    class ConfigException extends \InvalidArgumentException implements Exception
    {
    }
}

namespace {

    /**
     * Takes tokens from a fixed window of the default store, and says whether
     * they were there.
     *
     * Short for {@see \Sluice\FixedWindowLimiter::allow()} on a limiter without
     * a store of its own. A class goes by the same name, as an alias of that
     * limiter; PHP keeps functions and classes apart.
     *
     * ```php
     * if (fixed_window_limit("sms:$phone", limit: 1, window: 60)) {
     *     send_code($phone);
     * }
     * ```
     *
     * @param string    $key       who is limited: any bytes
     * @param int       $limit     tokens in one window, from 0 to 32 000 000; 0
     *                             refuses everything
     * @param int|float $window    its length in seconds, from 0.000001 to
     *                             31 622 400 (366 days)
     * @param int       $requested tokens to take, from 0 on; 0 takes nothing
     *
     * @return bool true if the request may go on
     *
     * @throws \ValueError            if a number is out of its range
     * @throws \Sluice\StoreException if the store cannot be asked and
     *                                `sluice.on_failure` is `throw`
     */
    function fixed_window_limit(string $key, int $limit, int|float $window = 1, int $requested = 1): bool
    {
    }

    // Two short names, given only where neither the application nor one of its
    // autoloaders has a class so called.
    class_alias(\Sluice\TokenBucketLimiter::class, 'TokenBucketLimiter');
    class_alias(\Sluice\FixedWindowLimiter::class, 'fixed_window_limit');
}
