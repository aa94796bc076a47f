<?php

// The limiter at the top of a script.
[$capacity, $rate] = isset($_GET['refuse']) ? [1, 0.001] : [10_000_000, 1_000_000];
if (!(new TokenBucketLimiter())->allow(isset($_GET['refuse']) ? 'full' : 'open', $capacity, $rate)) {
    http_response_code(429);
    exit;
}
echo "ok";
