<?php

declare(strict_types=1);

namespace app\controller;

use Sluice\Think\RateLimit;
use Sluice\Think\Throttle;

/** Limited by our attribute, and by middleware of its own. */
class Api
{
    /** @var list<mixed> */
    protected $middleware = [
        'throttle:two-an-hour' => ['only' => ['named']],
        Throttle::class => ['except' => ['named']],
    ];

    #[RateLimit('2/h')]
    public function attributed(): string
    {
        return 'attributed';
    }

    #[RateLimit('2/h')]
    public function other(): string
    {
        return 'other';
    }

    #[RateLimit('2/h')]
    public function third(): string
    {
        return 'third';
    }

    #[RateLimit(policy: 'two-an-hour', message: 'busy, __WAIT__ s')]
    #[RateLimit('3/h', key: 'everybody')]
    public function both(): string
    {
        return 'both';
    }

    #[RateLimit(policy: 'two-an-hour')]
    public function again(): string
    {
        return 'again';
    }

    public function named(): string
    {
        return 'named';
    }
}
