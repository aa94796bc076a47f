<?php

declare(strict_types=1);

use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;

Route::get('/whoami', static fn (Request $request) => [
    'user' => optional($request->user())->getAuthIdentifier(),
    'ip' => $request->ip(),
]);
