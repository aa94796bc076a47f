<?php

// Connects phpredis as a test says, gives the object to a limiter, and prints
// what came of it. Arguments: host, port, login as JSON, database, prefix.

declare(strict_types=1);

[, $host, $port, $auth, $database, $prefix] = $argv;
$auth = json_decode($auth);

class Client extends Redis
{
}

$redis = new Client();
$redis->connect($host, (int) $port);
if ($auth !== null) {
    $redis->auth($auth);
}
$redis->select((int) $database);
$redis->setOption(Redis::OPT_PREFIX, $prefix);

$limiter = new Sluice\TokenBucketLimiter($redis);
// In the middle of their transaction: on their socket, our call would be
// queued, and its reply given to them.
$redis->multi();
$redis->set('theirs', '1');
$decision = $limiter->attempt('k', 5, 1);
$replies = $redis->exec();

echo json_encode([
    'source' => $decision->source,
    'remaining' => $decision->remaining,
    'replies' => $replies,
    'still connected' => $redis->ping(),
]);
