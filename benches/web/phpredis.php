<?php

// What people write around phpredis: a persistent connection, a script by its
// SHA, loaded again where Redis has forgotten it.
const SCRIPT = <<<'LUA'
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local capacity, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
    local tokens, at = tonumber(state[1]) or capacity, tonumber(state[2]) or now
    tokens = math.min(capacity, tokens + (now - at) * rate / 1000000)
    local allowed = tokens >= cost
    if allowed then
      tokens = tokens - cost
    end
    redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
    redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / rate * 1000) + 1000)
    return allowed and 1 or 0
    LUA;

[$capacity, $rate] = isset($_GET['refuse']) ? [1, 0.001] : [10_000_000, 1_000_000];
$redis = new Redis();
$redis->pconnect(substr($_SERVER['BENCH_REDIS'], strlen('unix://')));
$arguments = [isset($_GET['refuse']) ? 'full' : 'open', $capacity, $rate, 1];
$allowed = $redis->evalSha(sha1(SCRIPT), $arguments, 1);
if ($allowed === false) {
    $allowed = $redis->eval(SCRIPT, $arguments, 1);
}
if ($allowed !== 1) {
    http_response_code(429);
    exit;
}
echo "ok";
