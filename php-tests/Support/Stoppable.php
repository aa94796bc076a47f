<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** Something a test has started and must not leave behind. */
interface Stoppable
{
    /** Ends it and takes its files away. Calling it again does nothing. */
    public function stop(): void;
}
