<?php

declare(strict_types=1);

// A client in a hurry: so many connections, each asks again as soon as it was
// answered, and does not wait long. What it gave up on, php-fpm works off all
// the same. Prints the answers by status as JSON, 0 for those it did not await.
//
// usage: php attack.php PORT PATH CONNECTIONS SECONDS PATIENCE

[, $port, $path, $connections, $seconds, $patience] = $argv;
$request = "GET $path HTTP/1.1\r\nHost: localhost\r\n\r\n";
$statuses = [];
$sockets = $sentAt = [];
$open = static function (int $slot) use ($port, $request, &$sockets, &$sentAt): void {
    $sockets[$slot] = stream_socket_client("tcp://127.0.0.1:$port", $code, $message, 5.0);
    stream_set_blocking($sockets[$slot], false);
    fwrite($sockets[$slot], $request);
    $sentAt[$slot] = microtime(true);
};
array_map($open, range(0, $connections - 1));
$end = microtime(true) + (float) $seconds;
while (($now = microtime(true)) < $end) {
    $read = $sockets;
    $write = $except = null;
    stream_select($read, $write, $except, 0, 20_000);
    foreach ($read as $slot => $socket) {
        $answer = fread($socket, 65536);
        $status = (int) substr($answer, 9, 3);
        $statuses[$status] = ($statuses[$status] ?? 0) + 1;
        if ($answer === '' || feof($socket) || fwrite($socket, $request) === false) {
            fclose($socket);
            $open($slot);
        }
        $sentAt[$slot] = $now;
    }
    foreach ($sentAt as $slot => $at) {
        if ($now - $at > (float) $patience) {
            $statuses[0] = ($statuses[0] ?? 0) + 1;
            fclose($sockets[$slot]);
            $open($slot);
        }
    }
}
echo json_encode($statuses), "\n";
