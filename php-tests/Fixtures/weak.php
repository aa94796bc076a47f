<?php

// A caller without strict_types.

use Sluice\Store;
use Sluice\TokenBucketLimiter;

return [
    'attempt' => fn (TokenBucketLimiter $limiter, mixed ...$arguments) => $limiter->attempt(...$arguments),
    'window' => fn (mixed ...$arguments) => fixed_window_limit(...$arguments),
    'construct' => fn (mixed $store) => new TokenBucketLimiter($store),
    'fake' => fn (mixed $at) => Store::fake($at),
    'advance' => fn (Store $store, mixed $seconds) => $store->advance($seconds),
];
