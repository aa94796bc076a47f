<?php

declare(strict_types=1);

return [
    'defaults' => ['guard' => 'api', 'passwords' => 'users'],
    'guards' => ['api' => ['driver' => 'bearer', 'provider' => 'users']],
    'providers' => ['users' => ['driver' => 'eloquent', 'model' => App\Models\User::class]],
    'passwords' => [],
];
