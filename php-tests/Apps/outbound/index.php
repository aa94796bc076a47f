<?php

declare(strict_types=1);

// A page that asks a partner for something. It answers with its worker's id,
// and the partner's status or for how long the request must wait.

use GuzzleHttp\Client;
use GuzzleHttp\Handler\StreamHandler;
use GuzzleHttp\HandlerStack;
use Sluice\Guzzle\OutboundLimiter;
use Sluice\Guzzle\OutboundLimitException;

require dirname(__DIR__, 2) . '/autoload.php';

$stack = HandlerStack::create(new StreamHandler());
$stack->push(new OutboundLimiter(['127.0.0.1' => '100/s burst 100']), 'sluice');
$client = new Client(['handler' => $stack, 'http_errors' => false, 'timeout' => 30]);
// Long enough for another worker to take the next request.
usleep(20_000);
try {
    echo json_encode([getmypid(), $client->get($_GET['url'])->getStatusCode(), null]);
} catch (OutboundLimitException $refused) {
    echo json_encode([getmypid(), null, $refused->retryAfter()]);
}
