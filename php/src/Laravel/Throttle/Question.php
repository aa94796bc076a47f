<?php

declare(strict_types=1);

namespace Sluice\Laravel\Throttle;

use Sluice\Decision;
use Sluice\Http\Facts;
use Sluice\Http\Guard;
use Sluice\Limit;

/**
 * All limits of one request, asked at once: if one refuses, none is charged.
 */
final class Question
{
    /** @var list<RequestLimit> */
    private readonly array $limits;

    /** @var array<int, Decision> by the limit's place; none for one charged by the answer */
    private array $decisions = [];

    private bool $isFree = false;

    /** @param array<object> $limits as Laravel's middleware has them */
    public function __construct(
        private readonly Windows $windows,
        private readonly Guard $guard,
        private readonly Facts $facts,
        array $limits,
    ) {
        $distinct = [];
        foreach (array_map(RequestLimit::of(...), $limits) as $limit) {
            $distinct["{$limit->max},{$limit->seconds},{$limit->key}"] ??= $limit;
        }
        $this->limits = array_values($distinct);
    }

    /**
     * Asks, and charges if no limit refuses.
     *
     * @return array{RequestLimit, Decision}|null the first limit that refuses, and
     *         the decision on all of them
     */
    public function ask(): ?array
    {
        $after = array_filter($this->limits, static fn (RequestLimit $limit): bool => $limit->after !== null);
        $before = array_diff_key($this->limits, $after);
        // Else the guard asks the allow list itself.
        if (($after !== [] || $before === []) && $this->guard->passedBy($this->facts) !== null) {
            $this->isFree = true;
            return null;
        }
        return $this->look($after) ?? $this->charge($before);
    }

    /** Whether the allow list let the request pass. */
    public function isFree(): bool
    {
        return $this->isFree;
    }

    /**
     * What there is to tell about each limit, once the answer is there and was
     * counted where it is to be.
     *
     * @return list<array{RequestLimit, Decision}>
     */
    public function answered(mixed $response): array
    {
        $told = [];
        foreach ($this->limits as $place => $limit) {
            if ($limit->after !== null && ($limit->after)($response)) {
                $this->windows->count($limit->key, $limit->seconds);
            }
            $told[] = [$limit, $this->decisions[$place] ?? $this->windows->look($limit->key, $limit->max)];
        }
        return $told;
    }

    /**
     * Looks at those that are charged by the answer, and no more.
     *
     * @param array<int, RequestLimit> $limits
     * @return array{RequestLimit, Decision}|null the first that refuses
     */
    private function look(array $limits): ?array
    {
        foreach ($limits as $limit) {
            $window = $this->windows->limit($limit->max, $limit->seconds);
            $decision = $this->guard->look($this->facts, $this->windows->key($limit->key), $window)->decision;
            if ($decision !== null && !$decision->allowed) {
                return [$limit, $decision];
            }
        }
        return null;
    }

    /**
     * Charges all or none.
     *
     * @param array<int, RequestLimit> $limits
     * @return array{RequestLimit, Decision}|null the first that refuses
     */
    private function charge(array $limits): ?array
    {
        if ($limits === []) {
            return null;
        }
        $asked = array_map(fn (RequestLimit $limit): Limit => $this->windows
            ->limit($limit->max, $limit->seconds)
            ->by($this->windows->key($limit->key)), array_values($limits));
        $decision = $this->guard->check($this->facts, ...$asked)->decision;
        $this->isFree = $decision === null;
        if ($decision === null) {
            return null;
        }
        $this->decisions = array_combine(array_keys($limits), $decision->parts ?: [$decision]);
        foreach ($decision->allowed ? [] : $this->decisions as $place => $part) {
            if (!$part->allowed) {
                return [$limits[$place], $decision];
            }
        }
        return null;
    }
}
