<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** All that has been started and not stopped yet. */
final class Running
{
    /** @var list<Stoppable> */
    private static array $all = [];

    /**
     * @template T of Stoppable
     * @param T $started
     * @return T
     */
    public static function add(Stoppable $started): Stoppable
    {
        return self::$all[] = $started;
    }

    /** Last started, first stopped. */
    public static function stopAll(): void
    {
        while (self::$all !== []) {
            array_pop(self::$all)->stop();
        }
    }
}
