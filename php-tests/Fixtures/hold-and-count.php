<?php

// Takes and gives back permits for a while, and tells how many held one at once
// as the kernel counts it: a lock on a byte of a file each.

declare(strict_types=1);

$limiter = new Sluice\Limiter($_GET['store'] ?: null);
$max = (int) $_GET['max'];
$locks = array_map(fn (int $slot) => fopen("{$_GET['dir']}/slot{$slot}", 'c'), range(1, $max));
$held = $tooMany = 0;
$until = hrtime(true) + (int) ($_GET['seconds'] * 1e9);
do {
    $permit = $limiter->acquire('hammered', Sluice\Limit::concurrency($max));
    if ($permit === null) {
        usleep(200);
        continue;
    }
    $held++;
    // Whoever holds a permit finds one of as many locks free.
    $lock = null;
    foreach ($locks as $candidate) {
        if (flock($candidate, LOCK_EX | LOCK_NB)) {
            $lock = $candidate;
            break;
        }
    }
    $tooMany += (int) ($lock === null);
    usleep(random_int(0, 500));
    $lock && flock($lock, LOCK_UN);
    $permit->release();
} while (hrtime(true) < $until);
echo json_encode(['pid' => getmypid(), 'held' => $held, 'tooMany' => $tooMany]);
