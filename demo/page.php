<?php
// A report that takes the database a while: 5 at once, then one a second.
$limiter = new TokenBucketLimiter();
$decision = $limiter->attempt('report:' . $_SERVER['REMOTE_ADDR'], capacity: 5, rate: 1);
$decision->send();
if (!$decision->allowed) {
    return;
}
header('Content-Type: text/plain');
echo "report ready\n";
