<?php

return [
    \think\middleware\SessionInit::class,
];
