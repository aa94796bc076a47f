<?php

declare(strict_types=1);

namespace Sluice\Think;

use Closure;
use InvalidArgumentException;

/**
 * What one request is limited by: `config/throttle.php`, and on top of it what
 * was given at the route, and what a closure has set for this request.
 */
final class Settings
{
    /** What may be said at a route. */
    public const NAMES = [
        'prefix', 'key', 'visit_method', 'visit_rate', 'visit_enable_show_rate_limit',
        'visit_fail_code', 'visit_fail_text', 'visit_fail_response', 'driver_name', 'policy',
    ];

    /** @var array<array-key, mixed> */
    private array $values;

    /**
     * @param array<array-key, mixed> $defaults think-throttle's
     * @param array<array-key, mixed> $configured `config/throttle.php`
     * @param array<array-key, mixed> $atRoute the middleware's parameters
     */
    public function __construct(array $defaults, array $configured, private readonly array $atRoute)
    {
        // Theirs would leave POST without a limit where nobody asked for that.
        unset($defaults['visit_method']);
        $this->values = array_merge($defaults, $configured, $atRoute);
        if (isset($atRoute['policy']) && !isset($atRoute['visit_rate'])) {
            $this->values['visit_rate'] = '';
        }
    }

    public function get(string $name): mixed
    {
        return $this->values[$name] ?? null;
    }

    public function set(string $name, mixed $value): void
    {
        $this->values[$name] = $value;
    }

    /**
     * The rate; null if there is none, which is no limit.
     *
     * @throws InvalidArgumentException if it is no rate
     */
    public function rate(): ?Rate
    {
        $rate = $this->get('visit_rate');
        if ($rate === null || $rate === '') {
            return null;
        }
        return is_string($rate) ? Rate::parse($rate) : throw $this->wrong('visit_rate', 'a text such as "10/m"');
    }

    /** @return list<string> */
    public function policies(): array
    {
        $policies = $this->get('policy') ?? [];
        $names = [];
        foreach (is_array($policies) ? $policies : [$policies] as $policy) {
            $names[] = is_string($policy)
                ? $policy
                : throw $this->wrong('policy', 'the name of a policy, or a list of names');
        }
        return $names;
    }

    /**
     * Whether the rate is for requests of one of these methods: all are, unless
     * `visit_method` lists some.
     */
    public function counts(string ...$methods): bool
    {
        $counted = $this->get('visit_method');
        if ($counted === null) {
            return true;
        }
        if (!is_array($counted)) {
            throw $this->wrong('visit_method', 'a list such as ["GET", "HEAD"]');
        }
        return array_intersect(array_map('strtoupper', $methods), array_map('strtoupper', $counted)) !== [];
    }

    /** Whether a rate was given at the route whose methods nobody spoke of there. */
    public function ratesWithoutMethods(): bool
    {
        return isset($this->atRoute['visit_rate']) && !isset($this->atRoute['visit_method']);
    }

    /**
     * The name that the rate is counted under: one from the configuration and one
     * from a route may be for the same key, and are two limits.
     */
    public function limitName(): string
    {
        return isset($this->atRoute['visit_rate']) ? 'throttle.route' : 'throttle';
    }

    /** @return list<string> what was given at the route and has no meaning */
    public function unknown(): array
    {
        return array_values(array_diff(array_map('strval', array_keys($this->atRoute)), self::NAMES));
    }

    public function text(string $name): string
    {
        $text = $this->get($name);
        return is_string($text) ? $text : throw $this->wrong($name, 'a text');
    }

    public function failCode(): int
    {
        $code = $this->get('visit_fail_code');
        return is_int($code) && $code >= 200 && $code <= 599
            ? $code
            : throw $this->wrong('visit_fail_code', 'an HTTP status from 200 to 599');
    }

    public function failResponse(): ?Closure
    {
        $response = $this->get('visit_fail_response');
        return $response instanceof Closure ? $response : null;
    }

    public function showsHeaders(): bool
    {
        return (bool) $this->get('visit_enable_show_rate_limit');
    }

    private function wrong(string $name, string $allowed): InvalidArgumentException
    {
        $where = array_key_exists($name, $this->atRoute) ? 'the parameters of the middleware' : 'config/throttle.php';
        return new InvalidArgumentException(
            "\"{$name}\" in {$where} must be {$allowed}, not " . get_debug_type($this->get($name))
        );
    }
}
