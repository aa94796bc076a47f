<?php

declare(strict_types=1);

// Finds the library, the tests, and Debian's packages of what the library
// adapts to. For PHPUnit, and for applications that the tests start.

spl_autoload_register(static function (string $class): void {
    foreach (['Sluice\\Tests\\' => __DIR__, 'Sluice\\' => dirname(__DIR__) . '/php/src'] as $prefix => $root) {
        $path = $root . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (str_starts_with($class, $prefix) && is_file($path)) {
            require $path;
            return;
        }
    }
});
require_once '/usr/share/php/Psr/Log/autoload.php';
require_once '/usr/share/php/GuzzleHttp/autoload.php';
