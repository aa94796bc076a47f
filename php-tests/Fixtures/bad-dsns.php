<?php

// Tries every DSN that is none, in every place that takes one, and prints all
// that PHP tells of the exceptions. No function of ours gets a DSN as an
// argument: it would stand in the trace for a reason that is not the
// extension's.

declare(strict_types=1);

$seen = [];
foreach (require __DIR__ . '/bad-dsns.list.php' as $name => [$dsn]) {
    foreach (['TokenBucketLimiter', 'FixedWindowLimiter', 'Store::redis'] as $place) {
        $exception = new Exception('it was not refused');
        try {
            match ($place) {
                'TokenBucketLimiter' => new Sluice\TokenBucketLimiter($dsn),
                'FixedWindowLimiter' => new Sluice\FixedWindowLimiter($dsn),
                'Store::redis' => Sluice\Store::redis($dsn, ['password' => 'hunter2']),
            };
        } catch (Throwable $exception) {
        }
        ob_start();
        var_dump($exception);
        print_r($exception);
        echo $exception, $exception->getTraceAsString();
        $seen[$name][$place] = [
            'class' => $exception::class,
            'is ours' => $exception instanceof Sluice\Exception && $exception instanceof InvalidArgumentException,
            'message' => $exception->getMessage(),
            'everything' => base64_encode(ob_get_clean()),
        ];
    }
}
echo json_encode($seen, JSON_THROW_ON_ERROR);
