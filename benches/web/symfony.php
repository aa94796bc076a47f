<?php

use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

require '/usr/share/php/Symfony/Component/Cache/autoload.php';
require '/usr/share/php/Symfony/Component/RateLimiter/autoload.php';

$redis = new Redis();
$redis->pconnect(substr($_SERVER['BENCH_REDIS'], strlen('unix://')));
$refuse = isset($_GET['refuse']);
[$capacity, $per] = $refuse ? [1, '1000 seconds'] : [10_000_000, '1 second'];
$config = ['id' => 'bench', 'policy' => 'token_bucket', 'limit' => $capacity, 'rate' => ['interval' => $per, 'amount' => $refuse ? 1 : 1_000_000]];
$factory = new RateLimiterFactory($config, new CacheStorage(new RedisAdapter($redis)));
if (!$factory->create($refuse ? 'full' : 'open')->consume(1)->isAccepted()) {
    http_response_code(429);
    exit;
}
echo "ok";
