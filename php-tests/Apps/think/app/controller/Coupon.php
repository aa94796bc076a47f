<?php

declare(strict_types=1);

namespace app\controller;

use think\facade\Request;
use think\middleware\annotation\RateLimit;

/** Limited by think-throttle's attribute. */
class Coupon
{
    #[RateLimit(rate: '2/2592000')]
    public function index(): string
    {
        return 'coupons';
    }

    #[RateLimit(rate: '1/2592000', key: RateLimit::IP, message: 'One coupon a day')]
    #[RateLimit(rate: '3/2592000', key: 'coupon', message: 'No coupons left, ask in __WAIT__ seconds')]
    public function take(): string
    {
        return 'taken';
    }

    #[RateLimit(rate: '1/2592000', key: [self::class, 'phone'], message: 'One message a day')]
    public function sms(): string
    {
        return 'sent';
    }

    public static function phone(): string
    {
        return (string) Request::get('phone');
    }
}
