<?php

declare(strict_types=1);

/*
 * Names of think-throttle, for applications that have its configuration, its
 * attributes or drivers of their own, but no longer the package. Asked after all
 * other autoloaders: where think-throttle is installed, its classes are taken.
 */
spl_autoload_register(static function (string $class): void {
    $ours = match ($class) {
        'think\middleware\Throttle' => Sluice\Think\Compat\Throttle::class,
        'think\middleware\annotation\RateLimit' => Sluice\Think\RateLimit::class,
        'think\middleware\throttle\ThrottleAbstract' => Sluice\Think\Compat\ThrottleAbstract::class,
        default => null,
    };
    if ($ours !== null) {
        // @mago-ignore analysis:possibly-invalid-argument - it is one of the three names above.
        class_alias($ours, $class);
    }
});
