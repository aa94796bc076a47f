<?php

declare(strict_types=1);

namespace Sluice\Symfony;

use DateTimeImmutable;
use Sluice\Decision;
use Sluice\Http\HeaderStyle;
use Symfony\Component\RateLimiter\RateLimit;

/**
 * Symfony's answer, with the decision behind it.
 *
 * {@see getRetryAfter()} is exact to the microsecond, so that `wait()` sleeps
 * exactly long enough; {@see headers()} has it in whole seconds, rounded up.
 */
final class EngineRateLimit extends RateLimit
{
    /** What stands for "never", in seconds: a year. */
    private const NEVER = 31_622_400.0;
    private readonly DateTimeImmutable $resetAt;

    private function __construct(public readonly Decision $decision, bool $accepted, float $wait)
    {
        parent::__construct($decision->remaining, self::in($wait), $accepted, $decision->limit);
        $this->resetAt = self::in($decision->resetAfter);
    }

    /** As it was decided. */
    public static function of(Decision $decision): self
    {
        return new self($decision, $decision->allowed, $decision->retryAfter ?? self::NEVER);
    }

    /** A look at what is left: accepted, and when the next token is there. */
    public static function look(Decision $peek): self
    {
        return new self($peek, true, $peek->retryAfter ?? self::NEVER);
    }

    /** A booking for later, which Symfony calls not accepted. */
    public static function booked(Decision $decision): self
    {
        return new self($decision, $decision->delay === 0.0, $decision->delay);
    }

    /** When nothing counts as spent any more. */
    public function getResetAt(): DateTimeImmutable
    {
        return $this->resetAt;
    }

    /**
     * Headers for the answer, refused or not.
     *
     * @return array<string, string>
     */
    public function headers(HeaderStyle $style = HeaderStyle::Standard): array
    {
        return $style->of($this->decision);
    }

    private static function in(float $seconds): DateTimeImmutable
    {
        return new DateTimeImmutable(sprintf('@%.6F', microtime(true) + $seconds));
    }
}
