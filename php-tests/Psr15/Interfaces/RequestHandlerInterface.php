<?php

declare(strict_types=1);

namespace Psr\Http\Server;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

// Debian 12 has PSR-7 and PSR-17, but no package with the interfaces of PSR-15.
// This is one of the two, as the standard has it.
interface RequestHandlerInterface
{
    public function handle(ServerRequestInterface $request): ResponseInterface;
}
