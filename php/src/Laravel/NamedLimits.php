<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use BackedEnum;
use Closure;
use Illuminate\Container\Container;
use Illuminate\Http\Request;
use Sluice\Decision;
use Sluice\Http\Facts;
use Sluice\Http\Policies;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\RateLimiter;
use Sluice\Store;
use Symfony\Component\HttpFoundation\Response;
use TypeError;
use UnitEnum;
use ValueError;

/**
 * Limits by name: what code said with {@see for()}, and the policies of the
 * configuration.
 */
final class NamedLimits
{
    /** @var array<string, Closure> */
    private array $closures = [];

    /** @param string $default the policy that an empty name means */
    public function __construct(
        private readonly Policies $policies,
        private readonly string $default,
    ) {
    }

    /**
     * Limits that depend on the request, such as on a customer's plan.
     *
     * ```php
     * Sluice::for('api', fn (Request $request) => match ($request->user()?->plan) {
     *     'internal' => Limit::none(),
     *     'gold' => Limit::tokenBucket(200, 100),
     *     default => ['20/s burst 40', '10000 per day UTC'],
     * });
     * ```
     *
     * The closure gets the request (of a job the job) and returns a
     * {@see Limit}, a policy's name or spec, a list of such, null for no limit,
     * or a Response that is sent as it is. Limits without `by()` go by client
     * and route.
     */
    public function for(string|UnitEnum $name, Closure $limits): void
    {
        $this->closures[self::name($name)] = $limits;
    }

    /** Whether code decides under this name. */
    public function isDecidedByCode(string $name): bool
    {
        return isset($this->closures[$name]);
    }

    /** The name that is meant: an empty one means the default policy. */
    public function meant(string $name): string
    {
        return $name === '' ? $this->default : $name;
    }

    /**
     * All limits of one request or job, each with its key; or a Response that
     * one of the closures wants sent.
     *
     * @param list<string> $names of closures, policies and specs
     * @param list<RateLimit> $own what the route says itself
     * @return list<Limit>|Response
     * @throws ValueError for a name that nobody knows
     */
    public function of(array $names, array $own, Facts $facts, object $subject): array|Response
    {
        $sources = [];
        foreach (array_unique($names) as $name) {
            // The route's own limits take the default's place.
            if ($name !== '' || $own === []) {
                $sources[] = [$this->meant($name), null];
            }
        }
        foreach ($own as $limit) {
            $sources[] = [(string) $limit->limit, $limit];
        }
        $limits = [];
        $specs = 0;
        foreach ($sources as [$name, $limit]) {
            if (isset($this->closures[$name])) {
                $found = $this->ofClosure($name, $facts, $subject);
                if ($found instanceof Response) {
                    return $found;
                }
            } else {
                $parts = $limit === null ? $this->parts($name, $own !== []) : $this->ownParts($limit);
                $found = self::keyed($name, $parts, $facts);
            }
            // What a route says twice is asked once.
            $limits += $this->policies->apart($name, $found, $specs);
        }
        return array_values($limits);
    }

    /**
     * What a name consists of, for people and for the commands.
     *
     * @param bool $hasOwn whether the route has limits of its own, which take
     *        the place of those by client and route
     * @return array<int, array{limit: Limit, by: string}> by their number in the policy
     */
    public function parts(string $name, bool $hasOwn = false): array
    {
        $parts = $this->policies->parts($name);
        return !$hasOwn ? $parts : array_filter(
            $parts,
            static fn (array $part): bool => $part['by'] !== Policies::BY_DEFAULT,
        );
    }

    /** @return list<array{limit: Limit, by: string}> */
    public function ownParts(RateLimit $own): array
    {
        if ($own->capacity !== null && $own->rate !== null) {
            $limit = Limit::tokenBucket($own->capacity, $own->rate);
            $name = $own->by === null ? 'route' : Policies::nameOf((string) $limit);
            return [['limit' => $limit->named($name), 'by' => $own->by ?? Policies::BY_DEFAULT]];
        }
        $parts = $this->policies->parts((string) $own->limit);
        $by = $own->by;
        if ($by === null) {
            return $parts;
        }
        // Actions that go by the same words share a count where they say the
        // same, and not where one allows three a minute and another sixty.
        $isSpec = $this->policies->isSpec((string) $own->limit);
        return array_map(static fn (array $part): array => [
            'limit' => $isSpec ? $part['limit']->named(Policies::nameOf((string) $own->limit)) : $part['limit'],
            'by' => $by,
        ], $parts);
    }

    /**
     * Books a place of a policy that is a token or leaky bucket, for work that
     * need not be done at once.
     *
     * ```php
     * $place = Sluice::reserve('reports', maxWait: 600);
     * BuildReport::dispatch($report)->delay((int) ceil($place->delay));
     * ```
     *
     * @param float $maxWait the longest delay in seconds; a longer one is a refusal
     * @param Request|null $request by default the current one
     * @throws ValueError for a policy of several limits, or of another kind
     */
    public function reserve(string $policy, float $maxWait, ?Request $request = null): Decision
    {
        $parts = $this->policies->parts($policy);
        if (count($parts) !== 1) {
            throw new ValueError("the policy \"{$policy}\" has several limits; only one can be booked ahead");
        }
        // The container of now: under Octane each request has its own.
        $app = Container::getInstance();
        $facts = RequestFacts::of($request ?? $app->make(Request::class));
        return $app->make(RateLimiter::class)->reserve(
            Policies::key($facts, $parts[0]['by']),
            $parts[0]['limit'],
            maxWait: $maxWait,
        );
    }

    /** @return array<string, Limit>|Response */
    private function ofClosure(string $name, Facts $facts, object $subject): array|Response
    {
        $result = ($this->closures[$name])($subject);
        if ($result instanceof Response) {
            return $result;
        }
        $result = match (true) {
            $result === null => [],
            is_array($result) => array_values($result),
            default => [$result],
        };
        $limits = [];
        foreach ($result as $number => $limit) {
            if (is_string($limit) && self::isSpec($limit)) {
                $limit = Limit::parse($limit);
            }
            if (is_string($limit)) {
                $limits += self::keyed($limit, $this->parts($limit), $facts);
            } elseif ($limit instanceof Limit) {
                $fullName = count($result) > 1 ? "{$name}.{$number}" : $name;
                $limits["{$name} {$number}"] = self::complete($limit, $fullName, $facts);
            } else {
                throw new TypeError(sprintf(
                    'Sluice::for("%s") must return limits, policies\' names or specs, a list of them, null '
                    . 'or a Response; it returned %s',
                    $name,
                    get_debug_type($limit),
                ));
            }
        }
        return $limits;
    }

    /**
     * @param array<int, array{limit: Limit, by: string}> $parts
     * @return array<string, Limit> by what they are
     */
    private static function keyed(string $name, array $parts, Facts $facts): array
    {
        $limits = [];
        foreach ($parts as $number => ['limit' => $limit, 'by' => $by]) {
            $limits["{$name} {$number} {$by}"] = Policies::keyed($limit, $facts, $by);
        }
        return $limits;
    }

    private static function isSpec(string $name): bool
    {
        return $name !== '' && ctype_digit($name[0]);
    }

    /** Gives a limit of a closure the key and the name that it lacks. */
    private static function complete(Limit $limit, string $name, Facts $facts): Limit
    {
        $seen = self::seen($limit);
        if ($seen === null) {
            $limit = Policies::keyed($limit, $facts);
            $seen = self::seen($limit);
        }
        return $seen?->policy === '' ? $limit->named($name) : $limit;
    }

    /**
     * A decision about this limit that counts nowhere: a limit does not show its
     * key and name, but a decision does. Null if it has no key.
     */
    public static function seen(Limit $limit): ?Decision
    {
        try {
            $decision = (new Limiter(Store::memory()))->attemptAll($limit);
        } catch (ValueError) {
            return null;
        }
        $decision->permit?->release();
        return $decision;
    }

    private static function name(string|UnitEnum $name): string
    {
        return match (true) {
            $name instanceof BackedEnum => (string) $name->value,
            $name instanceof UnitEnum => $name->name,
            default => $name,
        };
    }
}
