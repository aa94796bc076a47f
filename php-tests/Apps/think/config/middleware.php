<?php

return [
    'alias' => ['throttle' => \Sluice\Think\Throttle::class],
    'priority' => [],
];
