<?php

declare(strict_types=1);

namespace app\controller;

use think\facade\Request;
use think\facade\Session;
use think\Response;

/** Actions without a limit of their own; the routes say what is limited. */
class Shop
{
    public function index(): string
    {
        return 'shop';
    }

    public function item(string $id = ''): string
    {
        return "item {$id}";
    }

    public function missing(): Response
    {
        return Response::create('no such item', 'html', 404);
    }

    public function login(): string
    {
        Session::set('user', Request::post('email'));
        return 'signed in';
    }

    public function me(): string
    {
        return (string) Session::get('user', 'nobody');
    }
}
