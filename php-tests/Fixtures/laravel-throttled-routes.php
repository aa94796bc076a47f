<?php

declare(strict_types=1);

// Routes that are throttled in every way that Laravel knows, for an application
// with Laravel's own rate limiting and one with the drop-in.

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Request;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Illuminate\Support\Facades\RateLimiter;
use Illuminate\Support\Facades\Route;

// What ran, in its order, for the answer to tell.
$trace = static function (Request $request, string $step): void {
    $request->attributes->set('trace', [...$request->attributes->get('trace', []), $step]);
};
$answer = static function (Request $request) use ($trace): array {
    $trace($request, 'controller');
    return ['user' => $request->user()?->getAuthIdentifier(), 'trace' => $request->attributes->get('trace')];
};
$for = static function (string $name, Closure $limits) use ($trace): void {
    RateLimiter::for($name, static function (Request $request) use ($name, $limits, $trace): mixed {
        $trace($request, "limiter {$name}");
        return $limits($request);
    });
};
$refuse = static fn (string $name): Closure => static function (Request $request, array $headers) use ($trace, $name) {
    $trace($request, "response {$name}");
    return response()->json(
        ['refused' => $name, 'trace' => $request->attributes->get('trace'), 'knows' => array_keys($headers)],
        429,
        $headers + ['X-Of' => $name],
    );
};

$for('api', static fn (Request $request) => Limit::perMinute(3)->by($request->user()?->id ?: $request->ip()));
$for('array-of-one', static fn (Request $request) => [Limit::perMinute(2)->by($request->ip())]);
$for('both', static fn (Request $request) => [
    Limit::perMinute(2)->by("account:{$request->query('account')}")->response($refuse('account')),
    Limit::perMinute(4)->by("ip:{$request->ip()}")->response($refuse('ip')),
]);
$for('siblings', static fn (Request $request) => [
    Limit::perMinute(3)->by("ip:{$request->ip()}")->response($refuse('ip')),
    Limit::perMinute(1)->by("account:{$request->query('account')}")->response($refuse('account')),
]);
$for('one-key', static fn (Request $request) => [
    Limit::perMinute(2)->by($request->ip()),
    Limit::perHour(5)->by($request->ip()),
]);
$for('twice', static fn (Request $request) => [
    Limit::perMinute(3)->by($request->ip()),
    Limit::perMinute(3)->by($request->ip()),
]);
$for('none', static fn () => Limit::none());
$for('none-and-two', static fn (Request $request) => [Limit::none(), Limit::perMinute(2)->by($request->ip())]);
$for('zero', static fn (Request $request) => Limit::perMinute(0)->by($request->ip()));
$for('zero-with-response', static fn (Request $request) =>
    Limit::perMinute(0)->by($request->ip())->response($refuse('zero')));
$for('no-key', static fn () => Limit::perMinute(2));
$for('custom', static fn (Request $request) => Limit::perMinute(1)->by($request->ip())->response($refuse('custom')));
$for('response', static fn () => response('not today', 503));
$for('hours', static fn (Request $request) => Limit::perHour(2)->by($request->ip()));
$for('minute-and-hour', static fn (Request $request) => [
    Limit::perMinute(1)->by("minute:{$request->ip()}")->response($refuse('minute')),
    Limit::perHour(1)->by("hour:{$request->ip()}")->response($refuse('hour')),
]);
$for('forgets', static fn () => Limit::perMinute(3)->by('forgotten'));
$for('plans', static fn (Request $request) => match ($request->query('plan')) {
    'gold' => Limit::none(),
    'silver' => Limit::perMinute(2)->by($request->ip()),
    default => Limit::perMinute(1)->by($request->ip()),
});

$named = [
    'api', 'array-of-one', 'both', 'siblings', 'one-key', 'twice', 'none', 'none-and-two', 'zero',
    'zero-with-response', 'no-key', 'custom', 'response', 'hours', 'plans', 'minute-and-hour',
];
foreach ($named as $name) {
    Route::any("/named/{$name}", $answer)->middleware("throttle:{$name}");
}
Route::get('/named/forgets', static fn () => RateLimiter::clear(md5('forgetsforgotten')))->middleware('throttle:forgets');
Route::get('/numbers', $answer)->middleware('throttle:2,1');
Route::get('/numbers-too', $answer)->middleware('throttle:2,1');
Route::get('/prefix-a', $answer)->middleware('throttle:2,1,a');
Route::get('/prefix-b', $answer)->middleware('throttle:2,1,b');
Route::get('/guests-and-users', $answer)->middleware('throttle:1|3,1');
Route::get('/attribute', $answer)->middleware('throttle:rate_limit,1');
Route::get('/guests-and-attribute', $answer)->middleware('throttle:1|rate_limit,1');
Route::get('/class', $answer)->middleware(ThrottleRequests::class . ':2,1');
Route::get('/default', $answer)->middleware('throttle');
Route::get('/half-a-minute', $answer)->middleware('throttle:1,0.5');
Route::get('/nested', $answer)->middleware(['throttle:api', 'throttle:2,1,nested']);
Route::get('/after-auth', $answer)->middleware(['throttle:2,1', 'auth']);
Route::get('/fails', static fn () => throw new DomainException('broken'))->middleware('throttle:2,1');
Route::get('/not-found', static fn () => abort(404))->middleware('throttle:2,1');
Route::get('/streamed', static fn () => response()->stream(static fn () => print('streamed')))
    ->middleware('throttle:2,1');
Route::get('/throws-its-own', static fn () => throw new Illuminate\Http\Exceptions\ThrottleRequestsException('Mine'))
    ->middleware('throttle:5,1');

// Login throttling, as the traits of laravel/ui and Breeze do it.
Route::post('/login', static function (Request $request) {
    $key = mb_strtolower($request->input('email')) . '|' . $request->ip();
    if (RateLimiter::tooManyAttempts($key, 3)) {
        $seconds = RateLimiter::availableIn($key);
        return response()->json(['locked' => $seconds > 50 && $seconds <= 60], 429);
    }
    if ($request->input('password') !== 'right') {
        return response()->json(['attempts' => RateLimiter::hit($key)], 422);
    }
    RateLimiter::clear($key);
    return ['left' => RateLimiter::remaining($key, 3)];
});
Route::get('/attempt', static function (Request $request): array {
    $done = RateLimiter::attempt("send:{$request->ip()}", 2, static fn (): string => 'sent');
    return ['done' => $done, 'left' => RateLimiter::remaining("send:{$request->ip()}", 2)];
});

// From Laravel 11 on.
if (method_exists(Limit::class, 'perSecond')) {
    $for('per-second', static fn (Request $request) => Limit::perSecond(2, 30)->by($request->ip()));
    Route::get('/named/per-second', $answer)->middleware('throttle:per-second');
}
// From Laravel 10 on.
if (method_exists(ThrottleRequests::class, 'with')) {
    Route::get('/using', $answer)->middleware(ThrottleRequests::using('api'));
    Route::get('/with', $answer)->middleware(ThrottleRequests::with(2, 1));
}
// From Laravel 12 on.
if (method_exists(Limit::class, 'after')) {
    enum LimiterName: string
    {
        case Enum = 'by-enum';
    }
    RateLimiter::for(LimiterName::Enum, static fn (Request $request) => Limit::perMinute(2)->by($request->ip()));
    Route::get('/enum', $answer)->middleware(ThrottleRequests::using(LimiterName::Enum));
    $for('after', static fn (Request $request) => Limit::perMinute(2)->by($request->ip())->after(
        static function ($response) use ($trace, $request): bool {
            $trace($request, 'after');
            $response->headers->set('X-Trace', implode(',', $request->attributes->get('trace')));
            return $response->getStatusCode() === 404;
        },
    ));
    $for('after-and-before', static fn (Request $request) => [
        Limit::perMinute(2)->by("missed:{$request->ip()}")->after(
            static fn ($response): bool => $response->getStatusCode() === 404,
        )->response($refuse('missed')),
        Limit::perMinute(4)->by("all:{$request->ip()}")->response($refuse('all')),
    ]);
    foreach (['after', 'after-and-before'] as $name) {
        Route::get("/named/{$name}", static fn (Request $request) => $request->query('miss') ? abort(404) : $answer($request))
            ->middleware("throttle:{$name}");
    }
}
