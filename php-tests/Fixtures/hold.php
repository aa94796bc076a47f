<?php

// Takes a permit and ends as it is told. While it is held, a line in the log
// says so. Query: store, key, max, lease, end, log.

declare(strict_types=1);

$limiter = new Sluice\Limiter($_GET['store'] ?: null);
$limit = Sluice\Limit::concurrency((int) $_GET['max'], (float) $_GET['lease']);
if ($_GET['end'] === 'look') {
    echo json_encode($limiter->peek($_GET['key'], $limit)->remaining);
    return;
}
if (!$limiter->acquire($_GET['key'], $limit)) {
    echo json_encode('refused');
    return;
}
file_put_contents($_GET['log'], getmypid());
switch ($_GET['end']) {
    case 'exit':
        exit('1');
    case 'exception':
        throw new RuntimeException('uncaught');
    case 'error':
        trigger_error('fatal', E_USER_ERROR);
        // No break: it does not come back.
    case 'memory':
        ini_set('memory_limit', '8M');
        str_repeat('x', 64 << 20);
        // No break, as above.
    case 'time':
        set_time_limit(1);
        while (true) {
        }
        // No break, as above.
    case 'abort':
        while (true) {
            echo str_repeat('.', 8192);
            flush();
            usleep(1000);
        }
        // No break, as above.
    case 'stream':
        while (!is_file("{$_GET['log']}.stop")) {
            echo '.';
            flush();
            usleep(1000);
            clearstatcache();
        }
        exit;
    default:
        while (true) {
            usleep(1000);
        }
}
