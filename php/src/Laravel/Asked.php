<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Illuminate\Http\Request;
use Sluice\Http\Verdict;

/**
 * What was asked for one request. The request carries it, and it goes with it.
 */
final class Asked
{
    private const ATTRIBUTE = 'sluice';

    /** @var list<string> */
    public array $names = [];

    /** Whether the limits of the route were among them. */
    public bool $route = false;

    /** @var list<Verdict> with the permits that are held */
    public array $verdicts = [];

    /** Gives back the permits, and lets go of the request that the verdicts know. */
    public function release(): void
    {
        foreach ($this->verdicts as $verdict) {
            $verdict->release();
        }
        $this->verdicts = [];
    }

    /** What was asked for this request so far. */
    public static function of(Request $request): self
    {
        $asked = $request->attributes->get(self::ATTRIBUTE);
        if (!$asked instanceof self) {
            $asked = new self();
            $request->attributes->set(self::ATTRIBUTE, $asked);
        }
        return $asked;
    }
}
