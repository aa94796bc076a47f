<?php

declare(strict_types=1);

use app\controller\Api;
use app\CountingDriver;
use Sluice\Think\Throttle;
use think\facade\Route;
use think\Request;

Route::post('signin', 'shop/login')->middleware(Throttle::class, ['policy' => 'login']);
Route::post('signin-by-name', 'shop/login')->middleware(Throttle::class, 'login');
Route::get('slow', 'shop/index')->middleware(Throttle::class, ['policy' => 'one-at-a-time']);
Route::get('pause', function () {
    \Fiber::suspend();
    return 'resumed';
})->middleware(Throttle::class, ['visit_rate' => '5/h', 'key' => 'pause']);
Route::get('spec', 'shop/index')->middleware(Throttle::class, ['policy' => '2/h']);
Route::get('two-specs', 'shop/index')
    ->middleware(Throttle::class, ['policy' => ['9/s burst 9', '1/h burst 4']])
    ->middleware(Throttle::class, ['policy' => '2/h burst 3']);
Route::any('by-file', 'shop/index')->middleware(Throttle::class);
Route::any('posts', 'shop/index')
    ->middleware(Throttle::class, ['visit_rate' => '2/h', 'visit_method' => ['POST'], 'key' => 'posts/__IP__']);
Route::post('forgotten', 'shop/index')
    ->middleware(Throttle::class, ['visit_rate' => '1/h', 'key' => 'forgotten/__IP__']);
Route::get('typo', 'shop/index')->middleware(Throttle::class, ['vist_rate' => '1/h']);
Route::get('session', 'shop/me')->middleware(Throttle::class, ['visit_rate' => '2/h', 'key' => '__SESSION__']);
Route::get('null', 'shop/index')->middleware(Throttle::class, ['visit_rate' => '1/h', 'key' => fn () => null]);
Route::get('number', 'shop/index')->middleware(Throttle::class, [
    'visit_rate' => '1/h',
    'key' => fn ($throttle, $request) => (int) $request->get('user'),
]);
Route::get('ours', 'shop/index')->middleware(Throttle::class, [
    'visit_rate' => '9/h',
    'key' => function (Throttle $throttle, Request $request): string {
        $request->get('plan') === 'small' && $throttle->setRate('1/h');
        return 'ours/' . $request->get('user');
    },
]);
Route::get('driver', 'shop/index')->middleware(Throttle::class, [
    'policy' => 'five-an-hour', 'visit_rate' => '2/h', 'driver_name' => CountingDriver::class, 'key' => 'driver',
]);
Route::get('to-a-class', Api::class . '@other')
    ->middleware(Throttle::class, ['visit_rate' => Throttle::$default_config['visit_rate']]);
Route::get('twice', 'api/third')
    ->middleware(Throttle::class, ['visit_rate' => '9/h', 'key' => 'twice'])
    ->middleware(Throttle::class, ['visit_rate' => '5/h', 'key' => 'twice too']);
Route::get('again', 'api/again')->middleware(Throttle::class, ['policy' => 'two-an-hour']);
Route::get('nested', 'shop/index')
    ->middleware(Throttle::class, ['visit_rate' => '9/h', 'key' => 'nested'])
    ->middleware(Throttle::class, ['visit_rate' => '5/h', 'key' => 'nested too']);
Route::get('wrong', 'shop/index')->middleware(Throttle::class, ['visit_rate' => 'often']);
Route::get('unknown', 'shop/index')->middleware(Throttle::class, ['policy' => 'nobody-knows']);
