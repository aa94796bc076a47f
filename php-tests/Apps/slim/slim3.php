<?php

declare(strict_types=1);

// Slim 3, which knows PSR-7 but not PSR-15: a few lines make a bridge.

use Nyholm\Psr7\Factory\Psr17Factory;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;

require dirname(__DIR__, 2) . '/autoload.php';
require '/usr/share/php/Slim/autoload.php';
require '/usr/share/php/Nyholm/Psr7/autoload.php';
require dirname(__DIR__, 2) . '/Psr15/Interfaces/RequestHandlerInterface.php';
require dirname(__DIR__, 2) . '/Psr15/Interfaces/MiddlewareInterface.php';

// Slim 3 is older than this PHP.
error_reporting(E_ALL & ~E_DEPRECATED);
// Where it thinks it is mounted; PHP's own web server gives it the path here.
$_SERVER['SCRIPT_NAME'] = '/index.php';

// Not static: Slim 3 binds its container to each.
$bridge = fn (MiddlewareInterface $middleware): callable =>
    fn ($request, $response, $next) => $middleware->process(
        $request,
        new class ($response, $next) implements RequestHandlerInterface {
            public function __construct(private $response, private $next)
            {
            }

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                return ($this->next)($request, $this->response);
            }
        },
    );
$limits = array_map($bridge, (require __DIR__ . '/limits.php')(new Psr17Factory()));

$app = new Slim\App(['settings' => ['determineRouteBeforeAppMiddleware' => true]]);
$page = fn ($request, $response) => $response->write('served');
$app->get('/ping', $page);
$app->map(['GET', 'POST'], '/items/{id}', $page)->add($limits['items']);
$app->get('/other/{id}', $page)->setName('other')->add($limits['items']);
$app->post('/login', $page)->add($limits['login']);
$app->get('/orders', $page)->add($limits['orders']);
$app->run();
