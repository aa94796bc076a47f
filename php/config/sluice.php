<?php

use Illuminate\Support\Str;

/*
 * Rate limits of this application. All of it is plain data, so `config:cache`
 * works: where code is wanted, name a class, and the container makes it.
 *
 * See what is limited by what with `php artisan sluice:routes`.
 */

return [

    /*
     * Where counts are kept.
     *
     * - null: where php.ini says by `sluice.store`; without that, in the shared
     *   memory of this host, which needs no server
     * - 'shared': in the shared memory of this host, whatever php.ini says
     * - the name of a Redis connection of config/database.php, such as 'default':
     *   host, port, user, password, database, TLS and prefix are read from there
     * - a DSN: 'redis://10.0.0.5:6379/2' or 'unix:///run/redis.sock'
     */
    'store' => env('SLUICE_STORE'),

    /*
     * What sets the counts of this application apart from those of others that
     * share its php-fpm or its Redis. Every host of it needs the same. Empty is
     * what php.ini says by `sluice.prefix`.
     */
    'prefix' => env('SLUICE_PREFIX', Str::slug((string) env('APP_NAME', 'laravel'), '_')),

    /*
     * Limits by name, for routes: `->middleware('sluice:login')`.
     *
     * A policy is a spec, or a list of limits that are asked together: if one of
     * them refuses, none is charged.
     *
     *   '60/m'                        never more than 60 in any minute
     *   '20/s burst 100'              20 a second, and 100 at once
     *   '60 per minute fixed'         60 in a window that the first one opens
     *   '1000 per day Asia/Shanghai'  1000 a calendar day
     *   '10 concurrent'               ten at the same time
     *   'none', 'deny'                everything, nothing
     *
     * `by` says who shares a count: `client` (the user, else the IP address),
     * `ip`, `account:FIELD` (a field of the request, such as the e-mail address
     * of a login), `route`, `site` (everybody together), or several joined by
     * `+`. Without it a limit goes by `client+route`: each client has so much on
     * each route.
     */
    'policies' => [
        'tiers' => [
            ['limit' => '2000/s burst 4000', 'by' => 'site'],
            ['limit' => '500/s burst 1000', 'by' => 'route'],
            ['limit' => '20/s burst 40', 'by' => 'client+route'],
        ],
        'login' => [
            ['limit' => '5/m', 'by' => 'account:email'],
            ['limit' => '30/m', 'by' => 'ip'],
        ],
    ],

    /*
     * The policy of each route of a middleware group. An API route that nobody
     * thought of is limited all the same.
     */
    'groups' => [
        'api' => 'tiers',
    ],

    /* The policy that `->middleware('sluice')` without a name means. */
    'default' => 'tiers',

    /*
     * Who is never limited: identifiers of users, addresses and networks, and an
     * invokable class that gets the facts of the request
     * (`__invoke(Sluice\Http\Facts $facts): bool`). Each pass is logged.
     */
    'allow' => [
        'users' => [],
        'networks' => [],
        'callback' => null,
    ],

    /*
     * The headers of an answer: 'laravel' (X-RateLimit-Limit, -Remaining, and
     * with a 429 Retry-After, X-RateLimit-Reset), 'standard' (those of the
     * directive sluice.headers, the IETF's RateLimit among them), or 'none'.
     */
    'headers' => 'laravel',

    /* What a 429 says. The exception handler renders it, as JSON for an API. */
    'message' => 'Too Many Attempts.',

    /*
     * An invokable class that makes the whole answer instead
     * (`__invoke(Illuminate\Http\Request $request, Sluice\Http\Verdict $verdict)`).
     */
    'responder' => null,

    /*
     * Lets Laravel's own `throttle`, `RateLimiter` and job middleware count with
     * this engine too. Nothing else has to change.
     */
    'drop_in' => false,

    /*
     * Refusals are written to the log, at most one a key and interval in
     * seconds, and dispatched as Sluice\Laravel\Events\RequestDenied. The channel
     * is one of config/logging.php; null is the default one, false is none.
     */
    'log' => [
        'channel' => null,
        'interval' => 10,
    ],

    /*
     * Lets everything through on a machine without the extension, such as a
     * laptop, and says so in the log. Never in production.
     */
    'without_extension' => env('SLUICE_WITHOUT_EXTENSION', false),

];
