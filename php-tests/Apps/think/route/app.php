<?php

declare(strict_types=1);

use app\CountingDriver;
use think\facade\Route;
use think\middleware\Throttle;
use think\middleware\throttle\CounterSlider;
use think\middleware\throttle\LeakyBucket;
use think\middleware\throttle\TokenBucket;
use think\Request;
use think\Response;

// No limit: versions 1 and 2 say null, 3 says an empty text.
$none = ['visit_rate' => Throttle::$default_config['visit_rate']];

// One route for each thing that a config/throttle.php can say.
$limited = static fn (string $path, string $to, array $params) =>
    Route::any($path, $to)
        ->middleware(Throttle::class, $params + ['key' => "__IP__/{$path}", 'visit_rate' => '2/2592000']);

$limited('rate', 'shop/index', []);
$limited('period', 'shop/index', ['visit_rate' => '2/300']);
$limited('zero', 'shop/index', ['visit_rate' => '0/m']);
$limited('unlimited', 'shop/index', $none);
$limited('nobody', 'shop/index', ['key' => false]);
$limited('get-only', 'shop/index', ['visit_method' => ['GET', 'HEAD']]);
$limited('all-methods', 'shop/index', ['visit_method' => ['GET', 'POST', 'PUT']]);
$limited('code', 'shop/index', [
    'visit_fail_response' => null, 'visit_fail_code' => 503, 'visit_fail_text' => 'later: __WAIT__',
]);
$limited('text', 'shop/index', ['visit_fail_response' => null, 'visit_fail_text' => '请 __WAIT__ 秒后再试']);
$limited('response', 'shop/index', [
    'visit_fail_response' => function (Throttle $throttle, Request $request, int $wait_seconds) {
        // Version 1 has no getFailMessage().
        $text = method_exists($throttle, 'getFailMessage') ? $throttle->getFailMessage() : 'busy';
        $answer = ['text' => $text, 'wait' => $wait_seconds > 0, 'uri' => $request->baseUrl()];
        return Response::create($answer, 'json', 430);
    },
    'visit_fail_text' => 'busy',
]);
$limited('silent', 'shop/index', ['visit_enable_show_rate_limit' => false]);
$limited('missing', 'shop/missing', []);
$limited('slider', 'shop/index', ['driver_name' => CounterSlider::class]);
$limited('token', 'shop/index', ['driver_name' => TokenBucket::class]);
$limited('leaky', 'shop/index', ['driver_name' => LeakyBucket::class]);
$limited('custom', 'shop/index', ['driver_name' => CountingDriver::class]);
$limited('typed', 'shop/index', [
    'key' => function (Throttle $throttle, Request $request) {
        $throttle->setRate('1/2592000')->setDriverClass(CounterSlider::class);
        return 'typed/' . $request->get('user');
    },
]);
$limited('untyped', 'shop/index', [
    'key' => function ($throttle, $request) {
        $throttle->setRate('1/2592000');
        return '__CONTROLLER__/__ACTION__/__IP__/' . $request->get('user');
    },
]);
$limited('exempt', 'shop/index', ['key' => fn () => false]);

// Two actions of one controller, told apart by the key.
Route::group(function () {
    Route::get('place/index', 'shop/index');
    Route::get('place/item', 'shop/item');
})->middleware(Throttle::class, ['visit_rate' => '1/2592000', 'key' => 'place/__CONTROLLER__/__ACTION__/__IP__']);

Route::get('plain', 'shop/index');
Route::get('coupon/sms', 'coupon/sms')->middleware(Throttle::class, $none);
Route::get('coupon/take', 'coupon/take')->middleware(Throttle::class, $none);
Route::get('coupon', 'coupon/index')->middleware(Throttle::class, $none);
