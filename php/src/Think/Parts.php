<?php

declare(strict_types=1);

namespace Sluice\Think;

use Closure;
use InvalidArgumentException;
use Sluice\Http\Facts;
use Sluice\Http\Key;
use think\Request;
use TypeError;

/**
 * From what was configured to the limits of one request: those of the action's
 * attributes, of the policies, and of the rate.
 */
final class Parts
{
    /** @var list<Part> */
    public array $limits = [];

    /** @var list<CustomDriver> */
    public array $drivers = [];

    /** @var array<string, true> those that were added */
    private array $policies = [];

    /** @param Throttle $throttle what closures are given */
    public function __construct(
        private readonly Throttle $throttle,
        private readonly Settings $settings,
        private readonly Engine $engine,
        private readonly Request $request,
        private readonly Facts $facts,
    ) {
        $this->addAttributes();
        foreach ($settings->policies() as $policy) {
            $this->addPolicy($policy);
        }
        $this->addRate();
    }

    private function addAttributes(): void
    {
        // The middleware may stand at several places, and each attribute counts once.
        if (!$this->engine->firstTime($this->request)) {
            return;
        }
        foreach (Attributes::of(Engine::app(), $this->request) as $number => [$attribute, $place]) {
            if ($attribute->policy !== '') {
                $this->addPolicy($attribute->policy, $attribute->message);
            }
            $key = $attribute->rate === '' ? null : $this->key($attribute->key);
            if ($key !== null) {
                $this->add(
                    "throttle.attribute.{$number}",
                    Key::of($place, $key),
                    Rate::parse($attribute->rate),
                    $attribute->driver,
                    $attribute->message,
                );
            }
        }
    }

    private function addPolicy(string $policy, ?string $message = null): void
    {
        // Named at the action and at its route, it is still one.
        if (isset($this->policies[$policy])) {
            return;
        }
        $this->policies[$policy] = true;
        foreach ($this->engine->limitsOf($policy, $this->request, $this->facts) as $limit) {
            $this->limits[] = new Part($limit, $message);
        }
    }

    private function addRate(): void
    {
        // A client may name another method than it used, and be routed by that.
        $methods = array_unique([$this->request->method(), $this->request->method(true)]);
        if (!$this->settings->counts(...$methods)) {
            if ($this->settings->ratesWithoutMethods()) {
                $this->engine->warn(
                    "A rate was given at the route of {$this->facts->route}, and a request went without it:"
                    . ' "visit_method" in config/throttle.php does not list its method. Give "visit_method" at the'
                    . ' route too, or take it out of the file: without it all methods count.'
                );
            }
            return;
        }
        // First, for it may set the rate.
        $key = $this->key($this->settings->get('key'));
        $rate = $this->settings->rate();
        if ($key !== null && $rate !== null) {
            $this->add($this->settings->limitName(), $key, $rate, $this->settings->text('driver_name'));
        }
    }

    private function add(string $name, string $key, Rate $rate, string $driver, ?string $message = null): void
    {
        $key = Key::of('think', $this->settings->text('prefix'), $key);
        $kind = Driver::ofClass($driver);
        if ($kind === null) {
            $this->drivers[] = new CustomDriver($driver, Key::of($name, $key), $rate, $message);
        } else {
            $this->limits[] = new Part($kind->limit($rate)->named($name)->by($key), $message, $rate->seconds);
        }
    }

    /** A key as it may be configured, closures called and places filled in; null for nobody. */
    private function key(mixed $key): ?string
    {
        if ($key instanceof Closure) {
            $key = Engine::app()->invokeFunction($key, [$this->throttle, $this->request]);
        } elseif (is_array($key)) {
            $key = is_callable($key) ? $key() : throw new InvalidArgumentException(
                'a key that is an array must name a static method, such as [User::class, "mobile"]'
            );
        }
        if (is_int($key) || is_float($key) || $key instanceof \Stringable) {
            $key = (string) $key;
        }
        return match (true) {
            $key === null, $key === false, $key === '' => null,
            $key === true => KeyTemplate::fill(RateLimit::IP, $this->place(...)),
            is_string($key) => KeyTemplate::fill($key, $this->place(...)),
            default => throw new TypeError(
                'a key must be true for the address, false for no limit, or a text, not ' . get_debug_type($key)
            ),
        };
    }

    private function place(string $place): string
    {
        if ($place === RateLimit::IP) {
            return $this->facts->address();
        }
        if ($place === RateLimit::SESSION) {
            return $this->session();
        }
        $controller = $this->request->controller(true);
        if ($controller === '') {
            $this->engine->warn(
                'A key has __CONTROLLER__ or __ACTION__ in it, and there is no controller: the middleware runs before'
                . ' the routing, or the route leads to a closure. All such requests share one count. Put the'
                . ' middleware into "middleware" of config/route.php, at routes or in controllers.'
            );
        }
        // The client chooses upper and lower case, and PHP takes either.
        return $place === RateLimit::CONTROLLER ? $controller : $this->request->action(true);
    }

    /**
     * The session, if something is in it. One that is empty counts by the address:
     * a client can have as many of those as it likes.
     */
    private function session(): string
    {
        $session = Engine::app()->session;
        return $session->all() === [] ? $this->facts->address() : (string) $session->getId();
    }
}
