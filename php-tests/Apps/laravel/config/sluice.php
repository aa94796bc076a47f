<?php

declare(strict_types=1);

// Tests bring their own limits; what is not said here is the package's default.
return [
    'groups' => [],
    'drop_in' => (bool) env('SLUICE_DROP_IN', false),
];
