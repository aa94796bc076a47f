<?php

return [
    'policies' => [
        'login' => [
            ['limit' => '2/h', 'by' => 'account:email'],
            ['limit' => '5/h', 'by' => 'ip'],
        ],
        'two-an-hour' => '2/h',
        'five-an-hour' => ['limit' => '5/h', 'by' => 'site'],
        'one-at-a-time' => ['limit' => '1 concurrent', 'by' => 'site'],
    ],
];
