<?php

declare(strict_types=1);

// A partner's API. It writes down when it was asked for what, and answers as
// the query says: status, a Retry-After, a pause in milliseconds, a redirect.

$now = microtime(true);
file_put_contents(getenv('JOURNAL'), "{$now} {$_SERVER['REQUEST_URI']}\n", FILE_APPEND | LOCK_EX);
usleep(1000 * (int) ($_GET['ms'] ?? 0));
foreach (['after' => 'Retry-After', 'date' => 'Date', 'to' => 'Location'] as $field => $header) {
    if (isset($_GET[$field])) {
        header("{$header}: {$_GET[$field]}");
    }
}
http_response_code((int) ($_GET['status'] ?? 200));
echo 'served';
