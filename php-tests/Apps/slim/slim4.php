<?php

declare(strict_types=1);

use Nyholm\Psr7\Factory\Psr17Factory;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

$loader = require getenv('SLIM_DIR') . '/vendor/autoload.php';
$loader->addPsr4('Sluice\\', dirname(__DIR__, 3) . '/php/src');

$limits = (require __DIR__ . '/limits.php')(new Psr17Factory());

$app = Slim\Factory\AppFactory::create();
$page = static function (ServerRequestInterface $request, ResponseInterface $response): ResponseInterface {
    $response->getBody()->write('served');
    return $response;
};
$app->get('/ping', $page);
$app->map(['GET', 'POST'], '/items/{id}', $page)->add($limits['items']);
$app->get('/other/{id}', $page)->setName('other')->add($limits['items']);
$app->post('/login', $page)->add($limits['login']);
$app->get('/orders', $page)->add($limits['orders']);
$app->addBodyParsingMiddleware();
$app->addErrorMiddleware(true, false, false);
$app->run();
