<?php

declare(strict_types=1);

namespace Sluice\Think;

use Sluice\Limit;

/**
 * The four drivers of think-throttle, by their class names, and the kind of limit
 * that each one is.
 */
enum Driver: string
{
    case CounterFixed = 'think\middleware\throttle\CounterFixed';
    case CounterSlider = 'think\middleware\throttle\CounterSlider';
    case TokenBucket = 'think\middleware\throttle\TokenBucket';
    case LeakyBucket = 'think\middleware\throttle\LeakyBucket';

    /** The driver of this class; null for a class of the application's own. */
    public static function ofClass(string $class): ?self
    {
        foreach (self::cases() as $driver) {
            if (strcasecmp($driver->value, ltrim($class, '\\')) === 0) {
                return $driver;
            }
        }
        return null;
    }

    /** @throws \ValueError if a number is out of the range of that kind */
    public function limit(Rate $rate): Limit
    {
        return match ($this) {
            self::CounterFixed => Limit::fixedWindow($rate->requests, $rate->seconds),
            self::CounterSlider => Limit::slidingWindow($rate->requests, $rate->seconds),
            // Holds all the requests of a period, and gets them back over one.
            self::TokenBucket => Limit::tokenBucket($rate->requests, $rate->requests, per: $rate->seconds),
            // Theirs has no queue: each request has to keep its distance from the last.
            self::LeakyBucket => Limit::leakyBucket(min(1, $rate->requests), $rate->requests, per: $rate->seconds),
        };
    }
}
