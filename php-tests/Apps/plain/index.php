<?php

declare(strict_types=1);

// Plain PHP: a page of its own, two an hour for each client.

use Psr\Log\AbstractLogger;
use Sluice\Http\DenialLog;
use Sluice\Http\Facts;
use Sluice\Http\Guard;
use Sluice\Http\Policies;

require dirname(__DIR__, 2) . '/autoload.php';

$logger = new class extends AbstractLogger {
    public function log($level, $message, array $context = []): void
    {
        error_log($message . ' ' . json_encode($context));
    }
};
$policies = new Policies(['report' => '2/h']);
$guard = new Guard(denials: new DenialLog($logger));

header('X-Worker: ' . getmypid());
// Long enough for another worker to take the next request.
usleep(10_000);
$facts = Facts::ofServer($_SERVER);
$verdict = $guard->check($facts, ...$policies->limits('report', $facts));
$verdict->send();
if ($verdict->allowed) {
    echo 'served';
}
