<?php

declare(strict_types=1);

namespace App\Providers;

use App\Models\User;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Auth;
use Illuminate\Support\ServiceProvider;

final class AppServiceProvider extends ServiceProvider
{
    public function boot(): void
    {
        // `Authorization: Bearer ID` is the user ID; `Bearer ID:N` has N as `rate_limit`.
        Auth::viaRequest('bearer', static function (Request $request): ?User {
            [$id, $rate] = explode(':', (string) $request->bearerToken()) + [1 => null];
            return $id === '' ? null : new User(['id' => $id] + ($rate === null ? [] : ['rate_limit' => (int) $rate]));
        });
    }
}
