<?php

declare(strict_types=1);

// Runs before any test: `php -d extension=$SLUICE_SO /usr/bin/phpunit`.

require __DIR__ . '/autoload.php';

// The tests start children with the extension at this path. Should PHPUnit
// itself run with another build, half of them would test that one.
$extension = Sluice\Tests\Support\Extension::path();
if (!str_contains((string) file_get_contents('/proc/self/maps'), $extension)) {
    fwrite(STDERR, "Run PHPUnit as: php -d extension={$extension} /usr/bin/phpunit\n");
    exit(2);
}

register_shutdown_function([Sluice\Tests\Support\Running::class, 'stopAll']);
