<?php

declare(strict_types=1);

// The demo: a real php-fpm behind a real nginx, a burst of requests, and a
// table of what came back. Everything lives in a folder of its own, on a free
// port of the loopback, and is gone when this ends.

[, $extension] = $argv + [1 => ''];
if (!is_file($extension)) {
    fwrite(STDERR, "usage: php run.php /absolute/path/to/libsluice.so\n");
    exit(2);
}

$dir = sys_get_temp_dir() . '/sluice-demo-' . getmypid();
mkdir($dir);
chmod($dir, 0755);
$servers = [];
register_shutdown_function(function () use ($dir, &$servers): void {
    foreach ($servers as $server) {
        proc_terminate($server, SIGQUIT);
        proc_close($server);
    }
    removeFolder($dir);
});
pcntl_async_signals(true);
pcntl_signal(SIGINT, fn () => exit(130));
pcntl_signal(SIGTERM, fn () => exit(143));

$port = freePort();
file_put_contents("$dir/php.ini", "extension=$extension\n");
file_put_contents("$dir/fpm.conf", <<<INI
    [global]
    error_log = $dir/fpm.log
    daemonize = no
    [www]
    user = www-data
    group = www-data
    listen = $dir/fpm.sock
    listen.mode = 0666
    pm = static
    pm.max_children = 4
    INI);
file_put_contents("$dir/nginx.conf", strtr(file_get_contents(__DIR__ . '/nginx.conf'), [
    '{dir}' => $dir,
    '{port}' => (string) $port,
    // The workers are not root, and the project may lie where they cannot read.
    '{page}' => "$dir/page.php",
]));
copy(__DIR__ . '/page.php', "$dir/page.php");

putenv('PHP_INI_SCAN_DIR=');
$servers[] = start(['php-fpm8.2', '-c', "$dir/php.ini", '-y', "$dir/fpm.conf"], "$dir/fpm.out");
waitFor(fn () => file_exists("$dir/fpm.sock"), "$dir/fpm.log");
$servers[] = start(['nginx', '-c', "$dir/nginx.conf", '-e', "$dir/nginx.log"], "$dir/nginx.out");
waitFor(fn () => @fsockopen('127.0.0.1', $port, $code, $message, 1) !== false, "$dir/nginx.log");

echo "\nThe page, behind nginx and php-fpm with four workers:\n\n";
echo preg_replace('/^/m', '    ', trim(file_get_contents(__DIR__ . '/page.php'))), "\n\n";

echo "Eight requests at once, then one a half second:\n\n";
row('at', 'status', 'Retry-After', 'RateLimit', 'X-RateLimit-Remaining', 'body');
row(...array_fill(0, 6, '---'));
$started = microtime(true);
for ($request = 0; $request < 13; $request++) {
    if ($request >= 8) {
        usleep(500_000);
    }
    $at = microtime(true) - $started;
    [$status, $headers, $body] = get($port);
    row(
        sprintf('%.2f s', $at),
        $status,
        $headers['retry-after'] ?? '',
        $headers['ratelimit'] ?? '',
        $headers['x-ratelimit-remaining'] ?? '',
        $status === '200' ? trim($body) : json_decode($body)->title ?? '?',
    );
}
echo "\nThe four workers counted together, in shared memory; nothing else was installed or asked.\n";

/** @param list<string> $command */
function start(array $command, string $log)
{
    $output = ['file', $log, 'w'];
    $process = proc_open($command, [['file', '/dev/null', 'r'], $output, $output], $pipes);
    if ($process === false) {
        fwrite(STDERR, "cannot start $command[0]\n");
        exit(1);
    }
    return $process;
}

function waitFor(callable $ready, string $log): void
{
    for ($tries = 0; !$ready(); $tries++) {
        if ($tries === 100) {
            fwrite(STDERR, "a server did not start:\n" . @file_get_contents($log));
            exit(1);
        }
        usleep(50_000);
    }
}

function freePort(): int
{
    $socket = stream_socket_server('tcp://127.0.0.1:0');
    $name = stream_socket_get_name($socket, false);
    fclose($socket);
    return (int) substr($name, strrpos($name, ':') + 1);
}

/** @return array{string, array<string, string>, string} status, headers, body */
function get(int $port): array
{
    $socket = fsockopen('127.0.0.1', $port, $code, $message, 5);
    stream_set_timeout($socket, 5);
    fwrite($socket, "GET /report HTTP/1.0\r\nHost: localhost\r\n\r\n");
    [$head, $body] = explode("\r\n\r\n", stream_get_contents($socket), 2) + ['', ''];
    $lines = explode("\r\n", $head);
    $headers = [];
    foreach (array_slice($lines, 1) as $line) {
        [$name, $value] = explode(': ', $line, 2);
        $headers[strtolower($name)] = $value;
    }
    return [explode(' ', $lines[0])[1] ?? '?', $headers, $body];
}

function row(string ...$cells): void
{
    vprintf("  %-8s %-7s %-12s %-21s %-22s %s\n", $cells);
}

function removeFolder(string $dir): void
{
    foreach (glob("$dir/*") as $path) {
        is_dir($path) ? removeFolder($path) : unlink($path);
    }
    rmdir($dir);
}
