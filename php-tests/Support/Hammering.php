<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

use PHPUnit\Framework\Assert;

/** Several processes that ask for one key for a while, and what they may get. */
final class Hammering
{
    public const PROCESSES = 8;
    public const RATE = 2000;
    /** A second's worth: a bucket nobody asks for less than that never fills. */
    public const CAPACITY = 2000;
    private const SECONDS = 2;

    private function __construct(
        /** When they start and stop, in nanoseconds of the monotonic clock. */
        public readonly int $from,
        public readonly int $until,
    ) {
    }

    /** Starts soon, so that all processes are there by then. */
    public static function soon(): self
    {
        $from = hrtime(true) + 300_000_000;
        return new self($from, $from + self::SECONDS * 1_000_000_000);
    }

    /**
     * Given out and still there is together what a bucket has had: its
     * capacity, and the rate times the time since it was full. Never more, and
     * hardly less.
     *
     * @param list<array{began: int, admitted: int, pid: int}> $seen by each
     * @param array{left: int, before: int, after: int} $look taken at the end
     */
    public function assertHeld(array $seen, array $look): void
    {
        Assert::assertCount(self::PROCESSES, array_unique(array_column($seen, 'pid')));
        $admitted = array_sum(array_column($seen, 'admitted'));
        Assert::assertGreaterThan(self::CAPACITY, $admitted);
        // It was full when they started, and no longer when one had begun.
        $most = self::had($this->from, $look['after']);
        $least = self::had(min(array_column($seen, 'began')), $look['before']);
        Assert::assertLessThanOrEqual($most, $admitted + $look['left']);
        Assert::assertGreaterThanOrEqual(0.99 * $least, $admitted + $look['left']);
    }

    private static function had(int $from, int $to): float
    {
        return self::CAPACITY + self::RATE * ($to - $from) / 1e9;
    }
}
