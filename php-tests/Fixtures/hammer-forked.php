<?php

// Forks processes that hammer, and prints what each of them saw and what is
// left. Arguments: number of processes, and those of hammer().

declare(strict_types=1);

require __DIR__ . '/hammer.php';

[, $processes, $dsn, $capacity, $rate, $from, $until] = $argv;
$pipes = [];
for ($process = 0; $process < (int) $processes; $process++) {
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    if (pcntl_fork() === 0) {
        fwrite($theirs, json_encode(hammer($dsn, (int) $capacity, (int) $rate, (int) $from, (int) $until)));
        exit;
    }
    fclose($theirs);
    $pipes[] = $ours;
}
$seen = array_map(fn ($pipe) => json_decode(stream_get_contents($pipe)), $pipes);
echo json_encode([$seen, look($dsn, (int) $capacity, (int) $rate)]);
