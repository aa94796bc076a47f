<?php

declare(strict_types=1);

// What the benchmarks share: timing side by side, children, a Redis of their own.

function extensionPath(): string
{
    foreach (file('/proc/self/maps') as $line) {
        if (preg_match('#\s(/\S*libsluice\.so)$#', $line, $found)) {
            return $found[1];
        }
    }
    fwrite(STDERR, "run this with -d extension=/path/to/libsluice.so\n");
    exit(2);
}

function section(string $title): void
{
    echo "\n$title\n";
    row('', 'measured', 'ratio', 'goal');
}

function row(string ...$cells): void
{
    vprintf("  %-38s %12s   %-26s %s\n", $cells);
}

/** Nanoseconds that `$n` calls take, without the loop around them. */
function repeat(int $n, callable $call): float
{
    $start = hrtime(true);
    for ($i = 0; $i < $n; $i++) {
        $call();
    }
    $calls = hrtime(true) - $start;
    $nothing = fn () => null;
    $start = hrtime(true);
    for ($i = 0; $i < $n; $i++) {
        $nothing();
    }
    return $calls - (hrtime(true) - $start);
}

/**
 * Each measure's best nanoseconds per call over five rounds, taken in turns so
 * that a busy moment of the machine strikes all alike.
 *
 * @param array<string, callable(int): float> $measures
 * @return array<string, float>
 */
function sideBySide(array $measures, int $n): array
{
    $best = array_fill_keys(array_keys($measures), INF);
    for ($round = 0; $round < 5; $round++) {
        foreach ($measures as $name => $measure) {
            $best[$name] = min($best[$name], $measure($n) / $n);
        }
    }
    return $best;
}

/** @param list<string> $arguments */
function inChild(string $extension, string $code, array $arguments = []): string
{
    $command = [PHP_BINARY, '-n', ...($extension === '' ? [] : ['-d', "extension=$extension"]), '-r', $code, '--', ...$arguments];
    return output($command);
}

/** @param list<string> $command */
function output(array $command): string
{
    $process = proc_open($command, [1 => ['pipe', 'w']], $pipes);
    $output = stream_get_contents($pipes[1]);
    if (proc_close($process) !== 0) {
        fwrite(STDERR, "$command[0] failed\n");
        exit(1);
    }
    return $output;
}

/** Starts a Redis on a socket in a folder of its own, and stops it at the end. */
function startRedis(): string
{
    $dir = sys_get_temp_dir() . '/sluice-bench-' . getmypid();
    mkdir($dir);
    $socket = "$dir/redis.sock";
    $null = ['file', '/dev/null', 'w'];
    $server = proc_open(
        ['redis-server', '--port', '0', '--unixsocket', $socket, '--save', '', '--appendonly', 'no', '--dir', $dir],
        [['file', '/dev/null', 'r'], $null, $null],
        $pipes,
    );
    register_shutdown_function(function () use ($server, $dir): void {
        proc_terminate($server);
        proc_close($server);
        array_map('unlink', glob("$dir/*"));
        rmdir($dir);
    });
    for ($tries = 0; @stream_socket_client("unix://$socket") === false; $tries++) {
        if ($tries === 100) {
            fwrite(STDERR, "redis-server did not start\n");
            exit(1);
        }
        usleep(20_000);
    }
    return $socket;
}

/** @param list<string> $call */
function redisBenchmark(string $socket, int $n, array $call): float
{
    $csv = output(['redis-benchmark', '-s', $socket, '-c', '1', '-n', (string) $n, '--csv', ...$call]);
    $lines = explode("\n", trim($csv));
    return $n * 1e9 / (float) str_getcsv(end($lines))[1];
}

function systemCalls(string $extension, string $store, int $decisions): int
{
    $log = tempnam(sys_get_temp_dir(), 'sluice-strace-');
    $code = "\$l = new TokenBucketLimiter($store); for (\$i = 0; \$i < $decisions; \$i++) { \$l->allow('key', 30_000_000, 1_000_000); }";
    output(['strace', '-f', '-c', '-o', $log, PHP_BINARY, '-n', '-d', "extension=$extension", '-r', $code]);
    $total = preg_match('/^100\.\d+\s+\S+\s+\S+\s+(\d+).*total$/m', file_get_contents($log), $found) ? (int) $found[1] : 0;
    unlink($log);
    return $total;
}

/**
 * The script and the arguments of the EVALSHA that `$call` sends.
 *
 * @return array{string, list<string>}
 */
function lastEvalsha(string $socket, callable $call): array
{
    $monitor = stream_socket_client("unix://$socket");
    fwrite($monitor, "MONITOR\r\n");
    fgets($monitor);
    $call();
    do {
        $line = fgets($monitor);
    } while (!str_contains($line, '"EVALSHA"'));
    fclose($monitor);
    preg_match_all('/"((?:[^"\\\\]|\\\\.)*)"/', $line, $words);
    [, $sha, , ] = $words[1];
    return [$sha, array_map('stripcslashes', array_slice($words[1], 3))];
}
