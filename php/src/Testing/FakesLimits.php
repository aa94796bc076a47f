<?php

declare(strict_types=1);

namespace Sluice\Testing;

use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\Before;

/**
 * For a test class: an empty store before each test, the real one after it.
 *
 * ```php
 * final class OrdersTest extends TestCase
 * {
 *     use FakesLimits;
 * }
 * ```
 */
trait FakesLimits
{
    /** @before */
    #[Before]
    public function fakeLimits(): void
    {
        SluiceTest::fake();
    }

    /** @after */
    #[After]
    public function restoreLimits(): void
    {
        SluiceTest::restore();
    }
}
