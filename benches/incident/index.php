<?php

declare(strict_types=1);

// The site of the incident: a report that holds a worker while the database
// thinks, and the order page that everybody needs.

if (strtok($_SERVER['REQUEST_URI'], '?') === '/report') {
    // The limit that one would add first: by rate, at the top of the page.
    if (getenv('INCIDENT_LIMIT') === 'page' && !(new TokenBucketLimiter())->allow('report', capacity: 100, rate: 20)) {
        http_response_code(429);
        header('Retry-After: 1');
        exit;
    }
    usleep(300_000);
    echo "report\n";
    return;
}

// A quick page: a little work, a few milliseconds for the database.
$total = 0;
for ($line = 1; $line <= 2000; $line++) {
    $total += crc32("line $line") % 100;
}
usleep(5_000);
echo "order $total\n";
