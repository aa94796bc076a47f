<?php

declare(strict_types=1);

// Orders at a steady pace, whatever becomes of the earlier ones: people do not
// wait for each other. Prints one line an order: its milliseconds and status,
// 0 where none came in time.
//
// usage: php probe.php PORT PATH PER_SECOND SECONDS TIMEOUT

[, $port, $path, $perSecond, $seconds, $timeout] = $argv;
$request = "GET $path HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
$started = hrtime(true);
$due = static fn (int $number): float => $started + $number * 1e9 / $perSecond;
$orders = (int) ($perSecond * $seconds);
$open = [];
for ($sent = 0; $sent < $orders || $open !== [];) {
    $now = hrtime(true);
    while ($sent < $orders && $due($sent) <= $now) {
        $socket = stream_socket_client("tcp://127.0.0.1:$port", $code, $message, (float) $timeout);
        stream_set_blocking($socket, false);
        fwrite($socket, $request);
        $open[(int) $socket] = [$socket, $due($sent), ''];
        $sent++;
    }
    foreach ($open as $id => [$socket, $at]) {
        if ($now - $at > $timeout * 1e9) {
            printf("%.3f 0\n", $timeout * 1e3);
            fclose($socket);
            unset($open[$id]);
        }
    }
    $wait = max(0, min($sent < $orders ? $due($sent) : INF, $now + 5e7) - hrtime(true));
    $read = array_column($open, 0);
    $write = $except = null;
    if ($read === []) {
        usleep((int) ($wait / 1e3));
        continue;
    }
    stream_select($read, $write, $except, 0, (int) ($wait / 1e3));
    foreach ($read as $socket) {
        [, $at, $answer] = $open[(int) $socket];
        $answer .= fread($socket, 65536);
        $open[(int) $socket][2] = $answer;
        if (feof($socket)) {
            $status = preg_match('#^HTTP/1\.\d (\d+)#', $answer, $found) === 1 ? $found[1] : 0;
            printf("%.3f %d\n", (hrtime(true) - $at) / 1e6, $status);
            fclose($socket);
            unset($open[(int) $socket]);
        }
    }
}
