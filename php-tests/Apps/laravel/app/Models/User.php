<?php

declare(strict_types=1);

namespace App\Models;

use Illuminate\Foundation\Auth\User as Authenticatable;

/** A user without a table: see {@see \App\Providers\AppServiceProvider}. */
final class User extends Authenticatable
{
    protected $guarded = [];
    protected $keyType = 'string';
    public $incrementing = false;
}
