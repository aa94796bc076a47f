<?php

declare(strict_types=1);

use Symfony\Component\HttpFoundation\Request;

if (getenv('SYMFONY_DIR')) {
    $loader = require getenv('SYMFONY_DIR') . '/vendor/autoload.php';
    $loader->addPsr4('Sluice\\', dirname(__DIR__, 3) . '/php/src');
} else {
    require dirname(__DIR__, 2) . '/autoload.php';
    require '/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php';
    require '/usr/share/php/Symfony/Bundle/SecurityBundle/autoload.php';
    require '/usr/share/php/Symfony/Component/RateLimiter/autoload.php';
    require '/usr/share/php/Symfony/Component/Lock/autoload.php';
}
require __DIR__ . '/Kernel.php';
require __DIR__ . '/Pages.php';

$kernel = new Shop\Kernel(getenv('APP_ENV') ?: 'prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
