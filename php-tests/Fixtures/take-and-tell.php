<?php

// Takes tokens until there is a file to stop it, and after each one writes a
// byte to its log. Prints how many are left.

declare(strict_types=1);

$limiter = new Sluice\FixedWindowLimiter();
if (isset($_GET['log'])) {
    file_put_contents("{$_GET['log']}.pid", (string) getmypid());
    $log = fopen($_GET['log'], 'w');
    while (!is_file($_GET['stop'])) {
        $limiter->allow($_GET['key'], 30_000_000, 3600) && fwrite($log, '.');
    }
}
echo $limiter->peek($_GET['key'], 30_000_000, 3600)->remaining;
