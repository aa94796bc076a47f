<?php

declare(strict_types=1);

// The incident, replayed: one client asks for a slow report over and over,
// without a pause and without patience, while others order. What do they
// notice? Writes docs/incident.svg beside its table.
//
// usage: php -d extension=/path/to/libsluice.so benches/incident.php [SECONDS]

require __DIR__ . '/support.php';
require __DIR__ . '/servers.php';

const WORKERS = 20;
const ATTACKERS = 30;
const ATTACKERS_PATIENCE = 0.25;
const ORDERS_PER_SECOND = 25;
const PATIENCE = 5;

$extension = extensionPath();
$seconds = (int) ($argv[1] ?? 20);
$gate = __DIR__ . '/incident/gate.toml';
$setUps = [
    'quiet' => ['attacked' => false, 'ini' => [], 'environment' => []],
    'attacked, no limit' => ['attacked' => true, 'ini' => [], 'environment' => []],
    'attacked, limit in the page' => ['attacked' => true, 'ini' => [], 'environment' => ['INCIDENT_LIMIT' => 'page']],
    "attacked, the gate's bulkhead" => ['attacked' => true, 'ini' => ['sluice.config' => $gate], 'environment' => []],
];

printf(
    "\nA site of %d workers. A report holds one for 300 ms; %d orders a second come in, and give up after %d s.\n" .
    "One client loops over the report on %d connections, and asks anew after %d ms at the latest. %d s each.\n\n",
    WORKERS, ORDERS_PER_SECOND, PATIENCE, ATTACKERS, ATTACKERS_PATIENCE * 1000, $seconds,
);
printf("  %-30s %30s  %8s   %s\n", '', "order page's", '', "attacker's requests");
printf("  %-30s %9s %9s %9s  %8s  %10s %10s\n", '', 'p50 ms', 'p95 ms', 'p99 ms', 'failed', 'given up', '429s');

$results = [];
foreach ($setUps as $name => ['attacked' => $attacked, 'ini' => $ini, 'environment' => $environment]) {
    fwrite(STDERR, "  … $name\r");
    $results[$name] = $result = replay($extension, $attacked, $ini, $environment, $seconds);
    printf(
        "  %-30s %9.1f %9.1f %9.1f  %8s  %10d %10d\n",
        $name, $result['p50'], $result['p95'], $result['p99'],
        "{$result['failed']}/{$result['orders']}", $result['abandoned'], $result['refused'],
    );
}

$quiet = $results['quiet'];
$guarded = $results["attacked, the gate's bulkhead"];
printf(
    "\n  With the bulkhead an order's p95 is %.2f x the quiet one (goal: at most 1.5 x), and %d of %d orders failed (goal: none).\n\n",
    $guarded['p95'] / $quiet['p95'], $guarded['failed'], $guarded['orders'],
);
draw($results, dirname(__DIR__) . '/docs/incident.svg');

/** @return array{p50: float, p95: float, p99: float, orders: int, failed: int, abandoned: int, refused: int} */
function replay(string $extension, bool $attacked, array $ini, array $environment, int $seconds): array
{
    $site = new WebServer(['/' => __DIR__ . '/incident/index.php'], WORKERS, ['extension' => $extension] + $ini, $environment);
    $port = parse_url($site->url, PHP_URL_PORT);
    $order = [PHP_BINARY, '-n', __DIR__ . '/incident/probe.php', $port, '/order', ORDERS_PER_SECOND];
    output([...$order, 1, PATIENCE]);
    $statuses = [];
    $attack = $attacked ? startAttack((int) $port, $seconds) : null;
    $lines = explode("\n", trim(output([...$order, $seconds, PATIENCE])));
    if ($attack !== null) {
        $statuses = endAttack($attack);
    }
    $site->stop();
    $times = [];
    $failed = 0;
    foreach ($lines as $line) {
        [$milliseconds, $status] = explode(' ', $line);
        $times[] = (float) $milliseconds;
        $failed += $status === '200' ? 0 : 1;
    }
    sort($times);
    $percentile = fn (int $share): float => $times[(int) ceil(count($times) * $share / 100) - 1];
    return [
        'p50' => $percentile(50), 'p95' => $percentile(95), 'p99' => $percentile(99),
        'orders' => count($times), 'failed' => $failed,
        'abandoned' => $statuses[0] ?? 0, 'refused' => $statuses[429] ?? 0,
    ];
}

/** @return array{resource, resource} */
function startAttack(int $port, int $seconds): array
{
    $command = [PHP_BINARY, '-n', __DIR__ . '/incident/attack.php', $port, '/report', ATTACKERS, $seconds, ATTACKERS_PATIENCE];
    return [proc_open($command, [1 => ['pipe', 'w']], $pipes), $pipes[1]];
}

/** @return array<int, int> answers by status */
function endAttack(array $attack): array
{
    [$process, $output] = $attack;
    $statuses = json_decode(stream_get_contents($output), true);
    proc_close($process);
    return $statuses;
}

/** A chart by gnuplot: three bars a set-up, on a logarithmic scale. */
function draw(array $results, string $file): void
{
    $rows = '';
    foreach ($results as $name => $result) {
        $note = $result['failed'] > 0 ? sprintf('\n%d of %d failed', $result['failed'], $result['orders']) : '\nnone failed';
        $rows .= sprintf("\"%s%s\" %.2f %.2f %.2f\n", str_replace(', ', ',\n', $name), $note, $result['p50'], $result['p95'], $result['p99']);
    }
    $script = <<<GNUPLOT
        set terminal svg size 860,420 font 'sans-serif,13' background rgb 'white'
        set output '$file'
        set title 'What people who order notice of an attack on the report'
        set style data histogram
        set style histogram clustered gap 1
        set style fill solid border rgb 'white'
        set boxwidth 0.9
        set logscale y
        set yrange [1:20000]
        set ylabel 'milliseconds (logarithmic)'
        set ytics nomirror
        set xtics nomirror scale 0
        set grid ytics lc rgb '#dddddd'
        set bmargin 5
        set border 3 lc rgb '#888888'
        set key top right horizontal
        \$rows << EOD
        {$rows}EOD
        plot \$rows using 2:xtic(1) title 'p50' lc rgb '#9ecae1', \
             '' using 3 title 'p95' lc rgb '#4292c6', \
             '' using 4 title 'p99' lc rgb '#084594'

        GNUPLOT;
    $plot = proc_open(['gnuplot'], [['pipe', 'r']], $pipes);
    fwrite($pipes[0], $script);
    fclose($pipes[0]);
    if (proc_close($plot) === 0) {
        echo "  docs/incident.svg shows it.\n";
    }
}
