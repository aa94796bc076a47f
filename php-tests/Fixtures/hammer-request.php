<?php

// A request that hammers or, without times, looks at what is left.

declare(strict_types=1);

require __DIR__ . '/hammer.php';

$bucket = [$_GET['dsn'], (int) $_GET['capacity'], (int) $_GET['rate']];
echo json_encode(
    isset($_GET['from']) ? hammer(...$bucket, from: (int) $_GET['from'], until: (int) $_GET['until']) : look(...$bucket),
);
