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
         * - a DSN: `redis://[user[:password]@]host[:port][/db]`,
         *   `unix:///path[?db=n]`, `redis+sentinel://host,host/master` or
         *   `redis+cluster://host,host`, with `rediss` for TLS and with the
         *   options of {@see Store::redis()} as a query. Nothing is connected
         *   before the first call.
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
     * A limit: what is allowed, and all that goes with it.
     *
     * Made by one of the static methods, and never changed: {@see by()},
     * {@see named()}, {@see dryRun()} and {@see onFailure()} give a new one. It
     * knows nothing of a store and costs next to nothing.
     *
     * Wherever a limit is wanted, a string will do: one that starts with a digit
     * is a spec, as for {@see parse()}; any other is the name of a policy, as
     * for {@see policy()}.
     *
     * ```php
     * $limiter->allow("api:$user", Limit::tokenBucket(100, 20));
     * ```
     *
     * Limits of different kinds, names, windows, or periods and time zones never
     * share a count, even on one key. Numbers such as a capacity may change from
     * call to call and apply to what was counted before. A limit cannot be
     * cloned or serialized.
     */
    final class Limit implements \Stringable
    {
        /** Limits are made by the static methods. */
        private function __construct()
        {
        }

        /**
         * Token bucket: bursts up to a capacity, and a steady rate beyond that.
         *
         * Over any time T, no more than `capacity + rate * T` tokens are given
         * out. {@see TokenBucketLimiter} is a short form of this.
         *
         * ```php
         * Limit::tokenBucket(100, 20);          // 20 a second, 100 at once
         * Limit::tokenBucket(5, 10, per: 60);   // exactly ten a minute
         * ```
         *
         * @param int       $capacity most tokens at once, from 0 to 32 000 000; 0
         *                            refuses everything
         * @param int|float $rate     new tokens per `$per` seconds: 0, which
         *                            refuses everything, or what comes to one in
         *                            366 days up to 1 000 000 a second
         * @param int|float $per      the seconds the rate is given for, from
         *                            0.000001 to 31 622 400 (366 days)
         *
         * @throws \ValueError if a number is out of its range, or filling the
         *                     bucket would take more than 285 years
         */
        public static function tokenBucket(int $capacity, int|float $rate, int|float $per = 1): Limit
        {
        }

        /**
         * Fixed window: so many in a window that starts with the first admitted
         * request.
         *
         * Where one window ends and the next begins, up to twice the limit may
         * pass within one length. {@see FixedWindowLimiter} is a short form of
         * this.
         *
         * ```php
         * Limit::fixedWindow(60, 60); // sixty in a minute
         * ```
         *
         * @param int       $limit  tokens in one window, from 0 to 32 000 000; 0
         *                          refuses everything
         * @param int|float $window its length in seconds, from 0.000001 to
         *                          31 622 400 (366 days)
         * @param bool $asOpened    true if a window keeps the length of the call
         *                          that opened it. Then windows of all lengths
         *                          are one count, and another length applies
         *                          from the next window on: for callers that
         *                          know the length where they count, and not
         *                          where they look. Specs have no word for it.
         *
         * @throws \ValueError if a number is out of its range
         */
        public static function fixedWindow(int $limit, int|float $window, bool $asOpened = false): Limit
        {
        }

        /**
         * Sliding window: never more than so many in any interval of this
         * length, wherever it begins.
         *
         * ```php
         * Limit::slidingWindow(5, 60); // five logins a minute, and no way around it
         * ```
         *
         * @param int       $limit  tokens in any such interval, from 0 to
         *                          32 000 000; 0 refuses everything
         * @param int|float $window its length in seconds, from 0.000001 to
         *                          31 622 400 (366 days)
         *
         * @throws \ValueError if a number is out of its range
         */
        public static function slidingWindow(int $limit, int|float $window): Limit
        {
        }

        /**
         * Leaky bucket: a queue that lets its requests go at a constant rate.
         *
         * A request that finds room is allowed, and {@see Decision::$delay} says
         * when its turn is; act then. One that finds the queue full is refused.
         *
         * ```php
         * Limit::leakyBucket(50, 5); // five a second, one after another, fifty waiting
         * ```
         *
         * @param int       $capacity places in the queue, from 0 to 32 000 000;
         *                            0 refuses everything
         * @param int|float $rate     requests that leave it per `$per` seconds:
         *                            0, which refuses everything, or what comes
         *                            to one in 366 days up to 1 000 000 a second
         * @param int|float $per      the seconds the rate is given for, from
         *                            0.000001 to 31 622 400 (366 days)
         *
         * @throws \ValueError if a number is out of its range, or emptying the
         *                     queue would take more than 285 years
         */
        public static function leakyBucket(int $capacity, int|float $rate, int|float $per = 1): Limit
        {
        }

        /**
         * Quota: so many in a calendar hour, day, ISO week or month of a time
         * zone.
         *
         * Days are as long as the zone makes them, 23 or 25 hours included, and
         * an hour that the clock shows twice is two hours.
         *
         * ```php
         * Limit::quota(1000, Period::Day, 'Asia/Shanghai'); // begins anew at midnight there
         * ```
         *
         * @param int         $limit    tokens in one period, from 0 to
         *                              32 000 000; 0 refuses everything
         * @param Period      $period   which period of the calendar
         * @param string|null $timezone an IANA time zone; null is that of
         *                              `sluice.timezone`, else of `date.timezone`,
         *                              else UTC
         *
         * @throws \ValueError if the limit is out of its range, or there is no
         *                     such time zone
         */
        public static function quota(int $limit, Period $period, ?string $timezone = null): Limit
        {
        }

        /**
         * Concurrency: so many at the same time.
         *
         * What is taken is a {@see Permit}, held until it is released or the
         * request ends, whatever ends it.
         *
         * ```php
         * $limiter->run('report', Limit::concurrency(10), fn () => $db->slowQuery());
         * ```
         *
         * @param int       $max   permits at once, from 0 to 100 000; 0 refuses
         *                         everything
         * @param int|float $lease on Redis, seconds until a permit lapses that is
         *                         neither released nor renewed, from 0.000001 to
         *                         31 622 400 (366 days). In shared memory a
         *                         permit lasts as long as its worker, and this
         *                         has no meaning.
         *
         * @throws \ValueError if a number is out of its range
         */
        public static function concurrency(int $max, int|float $lease = 60): Limit
        {
        }

        /**
         * No limit: everything is allowed, and nothing is counted.
         *
         * A decision shows it as a limit of `PHP_INT_MAX`, and its headers say
         * nothing of it.
         *
         * ```php
         * $limit = $user->isInternal() ? Limit::none() : Limit::slidingWindow(60, 60);
         * ```
         */
        public static function none(): Limit
        {
        }

        /**
         * Nothing is allowed, ever.
         *
         * ```php
         * $limit = $user->isBlocked() ? Limit::deny() : Limit::slidingWindow(60, 60);
         * ```
         */
        public static function deny(): Limit
        {
        }

        /**
         * Reads a spec.
         *
         * - `60/m`, `10 per 5 minutes`: sliding window
         * - `60 per minute fixed`: fixed window
         * - `20/s burst 100`: token bucket; with `leased` behind it, {@see leased()}
         * - `5/s queue 50`: leaky bucket
         * - `1000 per day Asia/Shanghai`: quota; hour, day, week or month, and an
         *   IANA time zone
         * - `10 concurrent`, `10 concurrent lease 5m`: concurrency
         *
         * Units are `ms`, `s`, `m`, `h`, `d`, `w`, or written out.
         *
         * ```php
         * $limit = Limit::parse($row['limit']); // '60/m'
         * ```
         *
         * @param string $spec the text
         *
         * @throws \ValueError if it is no spec; the message has the column, and
         *                     what was expected there
         */
        public static function parse(string $spec): Limit
        {
        }

        /**
         * The policy of this name, from the file that `sluice.config` names.
         *
         * The file is looked at again at most every two seconds. While it is
         * broken the last good one stays in force.
         *
         * ```php
         * $limiter->attemptAll(Limit::policy('sms.minute')->by($phone), Limit::policy('sms.day')->by($phone));
         * ```
         *
         * @param string $name the policy's name
         *
         * @throws \ValueError if there is no such policy; the message lists those
         *                     there are
         */
        public static function policy(string $name): Limit
        {
        }

        /**
         * This limit, for a key and at a cost: a part of
         * {@see RateLimiter::attemptAll()}.
         *
         * ```php
         * Limit::slidingWindow(60, 60)->by($userId, cost: 3);
         * ```
         *
         * @param string|int $key  who is limited; a number is its digits, so 5
         *                         and "5" are the same key
         * @param int        $cost tokens to take, from 0 on
         *
         * @throws \ValueError if the cost is negative
         */
        public function by(string|int $key, int $cost = 1): Limit
        {
        }

        /**
         * This limit under a name, which {@see Decision::$policy} and the
         * headers tell.
         *
         * Limits of different names count apart.
         *
         * ```php
         * Limit::slidingWindow(1, 60)->named('sms-minute');
         * ```
         *
         * @param string $name 1 to 128 letters, digits and `. _ - : /`, not
         *                     starting with a digit
         *
         * @throws \ValueError if it is no such name
         */
        public function named(string $name): Limit
        {
        }

        /**
         * This limit, for trying out: it decides and counts, and lets everything
         * through.
         *
         * {@see Decision::$wouldDeny} tells what it would have done.
         *
         * ```php
         * $decision = $limiter->attempt($ip, Limit::slidingWindow(60, 60)->dryRun());
         * $decision->wouldDeny && $logger->notice('would be refused', ['ip' => $ip]);
         * ```
         *
         * @param bool $on false makes it one that is enforced again
         */
        public function dryRun(bool $on = true): Limit
        {
        }

        /**
         * This token bucket, of which each host may take tokens ahead from
         * Redis, to give them out without asking.
         *
         * It pays for keys that are asked for many times a second: one call to
         * Redis then serves many requests. Never more is given out than Redis
         * was charged for; tokens that a host has not used after a tenth of a
         * second are lost. A decision made this way has
         * {@see Source::Lease}. In shared memory it makes no difference.
         *
         * ```php
         * $limiter->allow('api', Limit::tokenBucket(5000, 2000)->leased());
         * $limiter->allow('api', '2000/s burst 5000 leased');
         * ```
         *
         * @throws \ValueError if it is no token bucket
         */
        public function leased(): Limit
        {
        }

        /**
         * This limit, with an answer of its own while Redis cannot be asked, in
         * the place of `sluice.on_failure`.
         *
         * Of several limits asked at once, the strictest answer is everybody's.
         *
         * ```php
         * Limit::slidingWindow(5, 60)->onFailure(Failure::Deny);
         * ```
         *
         * @param Failure $failure what to answer
         * @param float   $share   with {@see Failure::Local}, this host's part of
         *                         the limit: above 0, at most 1
         *
         * @throws \ValueError if the share is out of its range
         */
        public function onFailure(Failure $failure, float $share = 1.0): Limit
        {
        }

        /**
         * The limit as a spec, such as `"20/s burst 100"`, that {@see parse()}
         * reads as the same limit; `"none"` and `"deny"` for those two.
         *
         * ```php
         * echo Limit::tokenBucket(20, 10, per: 60);   // 10/m burst 20
         * ```
         *
         * Key, cost, name, dry run and failure policy are not part of it.
         */
        public function __toString(): string
        {
        }
    }

    /**
     * What a limiter can do, whatever the kind of limit.
     *
     * {@see Limiter} does it. Depend on this interface, and a test or another
     * package can put a class of its own in the place.
     *
     * Wherever a limit is wanted, a string that starts with a digit is a spec
     * and any other the name of a policy. What a kind of limit cannot do is a
     * `\ValueError` that says so.
     *
     * ```php
     * final class Login
     * {
     *     public function __construct(private RateLimiter $limiter)
     *     {
     *     }
     * }
     * ```
     */
    interface RateLimiter
    {
        /**
         * Takes tokens if they are there, and says whether they were.
         *
         * Of a concurrency limit it takes a permit, which is held to the end of
         * the request; {@see acquire()} gives one that can be released earlier.
         *
         * ```php
         * $limiter->allow("login:$ip", '5/m') || exit;
         * ```
         *
         * @param string       $key   who is limited
         * @param Limit|string $limit the limit, a spec, or a policy's name
         * @param int          $cost  tokens to take, from 0 on; 0 or 1 of a
         *                            concurrency limit
         *
         * @return bool true if the request may go on
         *
         * @throws \ValueError    if the text is no limit, or the cost out of its
         *                        range
         * @throws StoreException if the store cannot be asked and the policy for
         *                        that is to throw
         */
        public function allow(string $key, Limit|string $limit, int $cost = 1): bool;

        /**
         * Takes tokens if they are there, and tells all about it.
         *
         * ```php
         * $decision = $limiter->attempt("api:$user", 'ordinary');
         * $decision->send();
         * ```
         *
         * @param string       $key   who is limited
         * @param Limit|string $limit the limit, a spec, or a policy's name
         * @param int          $cost  tokens to take, from 0 on; 0 or 1 of a
         *                            concurrency limit
         *
         * @throws \ValueError    as {@see allow()}
         * @throws StoreException as {@see allow()}
         */
        public function attempt(string $key, Limit|string $limit, int $cost = 1): Decision;

        /**
         * Asks several limits at once, all or nothing: where one refuses, none is
         * charged.
         *
         * The decision speaks for all: of a success the part with the least left,
         * of a refusal the one with the longest wait. {@see Decision::$parts} has
         * them all, in their order. Parts of the same kind, key and name are one,
         * with their costs added.
         *
         * ```php
         * $decision = $limiter->attemptAll(
         *     Limit::slidingWindow(1, 60)->by($phone)->named('sms-minute'),
         *     Limit::quota(10, Period::Day)->by($phone)->named('sms-day'),
         * );
         * ```
         *
         * @param Limit ...$limits 1 to 32 of them, each with {@see Limit::by()}
         *
         * @throws \ValueError    if a limit has no key, or a concurrency limit
         *                        costs more than 1
         * @throws \Error         if there is no limit at all, or too many
         * @throws StoreException as {@see allow()}
         */
        public function attemptAll(Limit ...$limits): Decision;

        /**
         * Answers as {@see attempt()} would, and takes nothing.
         *
         * ```php
         * echo $limiter->peek("sms:$phone", '10 per day UTC')->remaining, ' left today';
         * ```
         *
         * @param string       $key   who is limited
         * @param Limit|string $limit the limit, a spec, or a policy's name
         * @param int          $cost  tokens that would be taken, from 0 on; 0 or
         *                            1 of a concurrency limit
         *
         * @throws \ValueError    as {@see allow()}
         * @throws StoreException as {@see allow()}
         */
        public function peek(string $key, Limit|string $limit, int $cost = 1): Decision;

        /**
         * Books tokens of a token bucket or a leaky bucket that will be there
         * soon.
         *
         * {@see Decision::$delay} says in how many seconds; act then, and not
         * before. Ten bookings at ten a second wait 0, 0.1, 0.2 … seconds.
         *
         * ```php
         * $decision = $limiter->reserve('mail', '10/s burst 1', maxWait: 5.0);
         * $decision->allowed && $queue->later($decision->delay, $mail);
         * ```
         *
         * @param string       $key     who is limited
         * @param Limit|string $limit   the limit, a spec, or a policy's name
         * @param int          $cost    tokens to book, from 0 on
         * @param float        $maxWait the longest delay, in seconds from 0 to
         *                              31 622 400 (366 days); a longer one is a
         *                              refusal
         *
         * @throws \ValueError    as {@see allow()}; if the time is out of its
         *                        range; or of a limit of another kind
         * @throws StoreException as {@see allow()}
         */
        public function reserve(string $key, Limit|string $limit, int $cost = 1, float $maxWait = 0.0): Decision;

        /**
         * Sleeps until the request may go on, and no longer than `$maxWait`
         * seconds.
         *
         * On buckets it books its place, so who came first goes first. If it
         * would take longer it refuses at once. A signal ends it with a refusal,
         * and what was booked is given back.
         *
         * ```php
         * $limiter->wait('crawler:example.org', '2/s burst 2', maxWait: 10.0)->allowed || exit;
         * ```
         *
         * @param string       $key     who is limited
         * @param Limit|string $limit   the limit, a spec, or a policy's name; not
         *                              a concurrency limit, for which there is
         *                              {@see run()}
         * @param int          $cost    tokens to take, from 0 on
         * @param float        $maxWait the longest sleep, in seconds from 0 to
         *                              31 622 400 (366 days)
         *
         * @throws \ValueError    as {@see allow()}; if the time is out of its
         *                        range; or of a concurrency limit
         * @throws StoreException as {@see allow()}
         */
        public function wait(string $key, Limit|string $limit, int $cost = 1, float $maxWait = 0.0): Decision;

        /**
         * Debits tokens in any case, for a cost that is known only afterwards.
         *
         * What goes beyond the limit is a debt, and nothing is allowed before it
         * is paid. {@see Decision::$allowed} says whether it was within the limit.
         *
         * ```php
         * $limiter->charge("db:$user", '1000/s burst 5000', (int) $stopwatch->milliseconds());
         * ```
         *
         * @param string       $key   who is limited
         * @param Limit|string $limit the limit, a spec, or a policy's name; not a
         *                            concurrency limit
         * @param int          $cost  tokens to debit, from 0 on
         *
         * @throws \ValueError    as {@see allow()}, or of a concurrency limit
         * @throws StoreException as {@see allow()}
         */
        public function charge(string $key, Limit|string $limit, int $cost): Decision;

        /**
         * Gives back what a decision took, where it took it, and never more.
         *
         * A refusal took nothing, and a second time there is nothing left to give
         * back. Of several limits asked at once, each part gets its own back. A
         * permit is released.
         *
         * ```php
         * $decision = $limiter->attempt("sms:$phone", '1/m');
         * $gateway->send($message) || $limiter->refund($decision);
         * ```
         *
         * @param Decision $decision what took them
         * @param int|null $cost     tokens to give back, from 0 on; null is all
         *
         * @throws \ValueError    if the cost is negative
         * @throws StoreException as {@see allow()}
         */
        public function refund(Decision $decision, ?int $cost = null): void;

        /**
         * Forgets what was taken from this key under this limit.
         *
         * The limit matters by its kind, its name, and its window, or its period
         * and time zone.
         *
         * ```php
         * $limiter->reset("login:$user", '5/m'); // signed in, so earlier failures do not count
         * ```
         *
         * @param string       $key   who is limited
         * @param Limit|string $limit the limit, a spec, or a policy's name
         *
         * @throws \ValueError    if the text is no limit
         * @throws StoreException as {@see allow()}
         */
        public function reset(string $key, Limit|string $limit): void;

        /**
         * Takes a permit of a concurrency limit, if one is free.
         *
         * It is held until {@see Permit::release()} or the end of the request,
         * whether or not the object is kept.
         *
         * ```php
         * if (!$permit = $limiter->acquire('report', '10 concurrent')) {
         *     http_response_code(429);
         *     exit;
         * }
         * ```
         *
         * @param string       $key   what is used by several at once
         * @param Limit|string $limit a concurrency limit, a spec of one, or a
         *                            policy's name; {@see Limit::none()} and
         *                            {@see Limit::deny()} stand in for any
         *
         * @return Permit|null null if all are held
         *
         * @throws \ValueError    if the text is no limit, or of a limit of
         *                        another kind
         * @throws StoreException as {@see allow()}
         */
        public function acquire(string $key, Limit|string $limit): ?Permit;

        /**
         * Calls with a permit of a concurrency limit held, and releases it
         * afterwards, also if an exception is thrown.
         *
         * ```php
         * $rows = $limiter->run('mysql:report', '10 concurrent', fn () => $db->slowQuery(), maxWait: 2.0);
         * ```
         *
         * @template T
         *
         * @param string       $key     what is used by several at once
         * @param Limit|string $limit   a concurrency limit, as for
         *                              {@see acquire()}
         * @param callable():T $do      what to do with the permit
         * @param float        $maxWait how long to wait for one, in seconds from
         *                              0 to 31 622 400 (366 days)
         *
         * @return T what it returned
         *
         * @throws DeniedException if no permit came free in time
         * @throws \ValueError     as {@see acquire()}, or if the time is out of
         *                         its range
         * @throws StoreException  as {@see allow()}
         */
        public function run(string $key, Limit|string $limit, callable $do, float $maxWait = 0.0): mixed;
    }

    /**
     * Asks a store about limits of any kind.
     *
     * ```php
     * $limiter = new Limiter();
     * $limiter->allow("login:$ip", '5/m');
     * ```
     *
     * Counts together with {@see TokenBucketLimiter} and
     * {@see FixedWindowLimiter} for the same key and kind. An object is cheap:
     * it opens nothing, and connections belong to the worker process and outlive
     * it. It cannot be cloned or serialized.
     */
    final class Limiter implements RateLimiter
    {
        /**
         * Chooses the store that is asked, as
         * {@see TokenBucketLimiter::__construct()} does.
         *
         * ```php
         * $limiter = new Limiter('redis://cache.internal');
         * ```
         *
         * @throws ConfigException if the text is no DSN, or the `\Redis` object
         *                         is not connected or hides where it is
         */
        public function __construct(
            #[\SensitiveParameter] \Redis|Store|string|null $store = null,
        ) {
        }

        /** {@inheritDoc} */
        public function allow(string $key, Limit|string $limit, int $cost = 1): bool
        {
        }

        /** {@inheritDoc} */
        public function attempt(string $key, Limit|string $limit, int $cost = 1): Decision
        {
        }

        /** {@inheritDoc} */
        public function attemptAll(Limit ...$limits): Decision
        {
        }

        /** {@inheritDoc} */
        public function peek(string $key, Limit|string $limit, int $cost = 1): Decision
        {
        }

        /** {@inheritDoc} */
        public function reserve(string $key, Limit|string $limit, int $cost = 1, float $maxWait = 0.0): Decision
        {
        }

        /** {@inheritDoc} */
        public function wait(string $key, Limit|string $limit, int $cost = 1, float $maxWait = 0.0): Decision
        {
        }

        /** {@inheritDoc} */
        public function charge(string $key, Limit|string $limit, int $cost): Decision
        {
        }

        /** {@inheritDoc} */
        public function refund(Decision $decision, ?int $cost = null): void
        {
        }

        /** {@inheritDoc} */
        public function reset(string $key, Limit|string $limit): void
        {
        }

        /** {@inheritDoc} */
        public function acquire(string $key, Limit|string $limit): ?Permit
        {
        }

        /** {@inheritDoc} */
        public function run(string $key, Limit|string $limit, callable $do, float $maxWait = 0.0): mixed
        {
        }
    }

    /**
     * A slot of a concurrency limit that is held.
     *
     * Held until it is released or the request ends, not until the object goes
     * away: `exit`, an exception, a fatal error, a timeout and the memory limit
     * all give it back. In shared memory it is free as soon as its worker dies;
     * on Redis it then lapses after its lease.
     *
     * ```php
     * $permit = $limiter->acquire('report', '10 concurrent');
     * ```
     *
     * It cannot be cloned or serialized.
     */
    final class Permit
    {
        /** The key as it was passed in, byte for byte. */
        public readonly string $key;

        /** Permits are given by {@see RateLimiter::acquire()} and its like. */
        private function __construct()
        {
        }

        /**
         * Gives the slot back.
         *
         * A second time, or in a child of the process that took it, does nothing.
         *
         * ```php
         * $permit->release();
         * ```
         */
        public function release(): void
        {
        }

        /**
         * Makes it last a whole lease from now, on Redis.
         *
         * ```php
         * foreach ($batches as $batch) {
         *     $permit->renew() || throw new RuntimeException('took too long');
         *     $batch->process();
         * }
         * ```
         *
         * @return bool false if it is no longer held: released, lapsed, or taken
         *              by another process
         *
         * @throws StoreException if the store cannot be asked and
         *                        `sluice.on_failure` is `throw`
         */
        public function renew(): bool
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

        /**
         * The capacity or limit that was applied, `sluice.scale` included;
         * `PHP_INT_MAX` for {@see Limit::none()}.
         */
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

        /**
         * Seconds to wait before acting on an allowed request: one's turn in a
         * leaky bucket, or what {@see RateLimiter::reserve()} booked; else 0.0.
         */
        public readonly float $delay;

        /**
         * Whether the request went through only because `sluice.mode` is
         * `observe`, or a limit is a {@see Limit::dryRun()}.
         *
         * Then {@see $allowed} is true, and this is true as well.
         */
        public readonly bool $wouldDeny;

        /** The key as it was passed in, byte for byte. */
        public readonly string $key;

        /** The name of the policy or limit that was applied; empty for one without. */
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
         * All properties by name: the source as its text, the parts as arrays,
         * and of a permit whether there is one.
         *
         * ```php
         * $logger->info('rate limit', $decision->toArray());
         * ```
         *
         * @return array{
         *     allowed: bool, limit: int, remaining: int, retryAfter: ?float,
         *     resetAfter: float, delay: float, wouldDeny: bool, key: string,
         *     policy: string, source: string, permit: bool, parts: list<array<string, mixed>>
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
     * The gate: rules of the file that `sluice.config` names, applied before any
     * PHP code of a request is compiled.
     *
     * Under php-fpm, CGI, Apache and `php -S` a refused request never reaches a
     * script, and nothing needs to be called; a script can ask here what the gate
     * found about the request that it serves. Servers that run many requests in
     * one script (FrankenPHP, RoadRunner, Octane, Swoole) call
     * {@see Gate::check()} for each. All methods are static.
     */
    final class Gate
    {
        /** There is nothing to make: the gate is one for all. */
        private function __construct()
        {
        }

        /**
         * The rule that speaks for this request.
         *
         * Of several rules that let it through, the one with the least left; of
         * those that refuse it, the one with the longest wait. A request on one
         * of the lists has `allow` or `deny` here.
         *
         * ```php
         * $log->info('served', ['rule' => Gate::rule()]);
         * ```
         *
         * @return ?string the rule's name; null if no rule is about this request
         */
        public static function rule(): ?string
        {
        }

        /**
         * What the limits of all rules about this request decided together.
         *
         * The same object at each call. `parts` has a decision per limit where
         * there are several. {@see Limiter::refund()} gives back what it took, for
         * an answer that came from a cache, for instance.
         *
         * ```php
         * foreach (Gate::decision()?->headers() ?? [] as $name => $value) {
         *     header("$name: $value");
         * }
         * ```
         *
         * @return ?Decision null if no limit was asked
         */
        public static function decision(): ?Decision
        {
        }

        /**
         * The response to this request, if it is refused, as the rule says it is.
         *
         * ```php
         * if ($answer = Gate::answer()) {
         *     return new Response($answer['status'], $answer['headers'], $answer['body']);
         * }
         * ```
         *
         * @return ?array{status: int, headers: array<string, string>, body: string}
         *         null if the request goes on
         */
        public static function answer(): ?array
        {
        }

        /**
         * Asks the gate about a request: for servers that run many requests in
         * one script.
         *
         * It ends the request before, as {@see Gate::finish()} does, and decides
         * about this one. Permits that it takes are held until `finish()`, until
         * the next call, or until the server ends the request.
         *
         * Without an argument, where the gate judged this request before PHP ran
         * (php-fpm, CGI, Apache, `php -S`), nothing is asked again.
         *
         * ```php
         * while ($request = $worker->waitRequest()) {
         *     try {
         *         if (Gate::check($request->getServerParams())) {
         *             $worker->respond(...Gate::answer());
         *         } else {
         *             $worker->respond($app->handle($request));
         *         }
         *     } finally {
         *         Gate::finish();
         *     }
         * }
         * ```
         *
         * @param ?array<string, mixed> $server variables by the names that they
         *        have in `$_SERVER`: `REQUEST_METHOD`, `REQUEST_URI`, `REMOTE_ADDR`,
         *        `HTTP_HOST`, `HTTP_…` for each header, `QUERY_STRING`; values that
         *        are no strings are left out. null: `$_SERVER`
         *
         * @return ?Decision the refusal; null if the request may go on
         */
        public static function check(?array $server = null): ?Decision
        {
        }

        /**
         * Ends the request that {@see Gate::check()} began: its permits are given
         * back, and it is forgotten.
         *
         * Without one it does nothing. What `php-fpm` and its like serve ends by
         * itself.
         *
         * ```php
         * Gate::finish();
         * ```
         */
        public static function finish(): void
        {
        }

        /**
         * What the gate has done since the start, over all workers of this server.
         *
         * ```php
         * $refused = Gate::status()['refused'];
         * ```
         *
         * @return array{
         *     installed: bool, rules: list<string>, allowed: int, refused: int,
         *     observed: int, allowListed: int, denyListed: int, failed: int
         * } whether requests are judged before PHP runs; the rules in force; and how
         *   many requests rules let through, refused, and would have refused
         *   (`dry_run`, `observe`), how many were on the lists, and how many were
         *   refused as the store could not be asked
         */
        public static function status(): array
        {
        }

        /**
         * Reads a file as `sluice.config` would be read, and says what is wrong.
         *
         * ```php
         * foreach (Gate::validate('/etc/php/sluice.toml') as $message) {
         *     fwrite(STDERR, $message . PHP_EOL);
         * }
         * ```
         *
         * @param string $file its path
         *
         * @return list<string> messages with line, column and what was expected; none
         *                      if the file is fine
         */
        public static function validate(string $file): array
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
         * @param string $dsn     `redis://[user[:password]@]host[:port][/db]`,
         *                        `unix:///path`, `redis+sentinel://host,host/master`
         *                        or `redis+cluster://host,host`, with `rediss`
         *                        for TLS; options may follow as a query
         * @param array{
         *     db?: int|string, user?: string, password?: string, prefix?: string,
         *     timeout?: string|int|float, connect_timeout?: string|int|float,
         *     sentinel_user?: string, sentinel_password?: string,
         *     ca?: string, cert?: string, key?: string, server_name?: string,
         *     verify?: 'yes'|'no'
         * } $options the same options, set apart; they win over the DSN's.
         *            A time is text such as `50ms`, `1s`, or a number of
         *            seconds, from 1 ms to 60 s.
         *
         * @throws ConfigException if the DSN, an option or a file of TLS is wrong; the message
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
         * worker, and so are those of requests that were refused by the near
         * state and allowed by a lease. The breaker is that of the host:
         * `faults` in a row, how often it has `opened`, and while it is open
         * the seconds until somebody may see whether Redis is back.
         *
         * ```php
         * $used = Store::sharedMemory()->status()['sharedMemory'];
         * printf('%d of %d slots', $used['live'], $used['slots']);
         * ```
         *
         * @return array{
         *     store: string,
         *     redis?: array{dsn: string, topology: 'standalone'|'sentinel'|'cluster', node: ?string, connected: bool, connections: int, calls: int, faults: int, lastFault: ?string},
         *     breaker?: array{open: bool, faults: int, opened: int, probeIn: ?float},
         *     near?: array{seconds: float, refused: int},
         *     leases?: array{allowed: int},
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

    /** A period of the calendar, for {@see Limit::quota()}. */
    enum Period: string
    {
        /** From one full hour on the wall clock to the next. */
        case Hour = 'hour';

        /** From the start of a day to that of the next. */
        case Day = 'day';

        /** From Monday to Sunday (ISO 8601). */
        case Week = 'week';

        /** From the first of a month to its last day. */
        case Month = 'month';
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
     * A set of networks, IPv4 and IPv6, as the gate reads them.
     *
     * ```php
     * $inside = new Networks(['10.0.0.0/8', '2001:db8::/32', '192.0.2.7']);
     * $inside->find('10.1.2.3');    // "10.0.0.0/8"
     * $inside->find('8.8.8.8');     // null
     * ```
     *
     * An IPv4 address in the clothes of IPv6 (`::ffff:10.1.2.3`) is IPv4. A set
     * cannot be cloned or serialized.
     */
    final class Networks
    {
        /**
         * A set of these networks.
         *
         * @param list<string> $networks addresses and networks in CIDR notation
         *
         * @throws \ValueError for what is neither
         */
        public function __construct(array $networks)
        {
        }

        /** The first network that has this address in it, as it was given; null for none. */
        public function find(string $address): ?string
        {
        }
    }

    /**
     * Who is at the other end, where proxies stand in between: as the gate finds
     * the client.
     *
     * Anybody may write `X-Forwarded-For`; each honest proxy adds the address
     * that it was asked from at the right. So the list is walked from the right,
     * over the proxies that are known, and the first that is not one of them is
     * the client.
     *
     * ```php
     * $address = new ClientAddress(['10.0.0.0/8']);
     * $address->of('10.0.0.1', '6.6.6.6, 203.0.113.9, 10.0.0.7');   // "203.0.113.9"
     * ```
     *
     * An object may serve for life: it holds nothing of a request. It cannot be
     * cloned or serialized.
     */
    final class ClientAddress
    {
        /**
         * Finds clients behind these proxies.
         *
         * @param list<string> $trustedProxies addresses and networks of the proxies
         *                                     in front, and `unix` for those on a
         *                                     Unix socket; without any, no header
         *                                     is believed
         *
         * @throws \ValueError for what is none of these
         */
        public function __construct(array $trustedProxies = [])
        {
        }

        /**
         * The client's address.
         *
         * @param string $remote       who holds the connection: `REMOTE_ADDR`
         * @param string $forwardedFor `X-Forwarded-For`, its lines joined by commas
         *
         * @return string an address in its shortest form; `$remote` as it is where
         *                that is no address
         */
        public function of(string $remote, string $forwardedFor = ''): string
        {
        }

        /**
         * What counts as one client: an IPv4 address by itself, an IPv6 address
         * with its /64, which one subscriber has to himself.
         *
         * ```php
         * ClientAddress::network('2001:db8::1:2:3:4');   // "2001:db8::/64"
         * ```
         *
         * @return string `$address` as it is where that is no address
         */
        public static function network(string $address): string
        {
        }
    }

    /**
     * No permit came free in time for {@see RateLimiter::run()}.
     *
     * Thrown before anything was run.
     */
    class DeniedException extends \RuntimeException implements Exception
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
