<?php

declare(strict_types=1);

namespace Sluice\Think;

use Psr\Log\LoggerInterface;
use Sluice\Extension;
use Sluice\Http\DenialLog;
use Sluice\Http\Facts;
use Sluice\Http\Guard;
use Sluice\Http\Policies;
use Sluice\Http\Verdict;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Permit;
use Sluice\RateLimiter;
use Sluice\Store;
use Sluice\Think\Event\RequestDenied;
use think\App;
use think\Container;
use think\Request;
use think\route\RuleItem;
use WeakMap;

/**
 * What all requests of a worker are limited with.
 *
 * Made by the container from `config/sluice.php`, and kept there. What belongs to
 * a request is kept by the request alone and goes away with it.
 */
final class Engine
{
    /** Seconds in which the same warning is not given again. */
    private const QUIET = 3600;

    public readonly Policies $policies;
    private ?Address $address = null;
    private ?RateLimiter $limiter = null;
    private ?Guard $guard = null;

    /** @var WeakMap<Request, list<Permit>> what requests hold */
    private WeakMap $permits;

    /** @var WeakMap<Request, true> whose attributes were asked */
    private WeakMap $attributed;

    /** @var WeakMap<Request, int> how many specs each was asked for */
    private WeakMap $specs;

    public function __construct(
        private readonly Config $config,
        private readonly LoggerInterface $logger,
        private readonly bool $production,
    ) {
        $this->policies = new Policies($config->policies);
        $this->permits = new WeakMap();
        $this->attributed = new WeakMap();
        $this->specs = new WeakMap();
    }

    /** How ThinkPHP's container makes it. */
    public static function __make(App $app): self
    {
        $config = new Config($app);
        /** @var LoggerInterface $logger */
        $logger = $config->logChannel === null ? $app->log : $app->log->channel($config->logChannel);
        return new self($config, new Log($logger), !$app->isDebug());
    }

    /** The one of the application that runs now. */
    public static function current(): self
    {
        /** @var self $engine */
        $engine = self::app()->make(self::class);
        return $engine;
    }

    /** The application that runs now, which in coroutines is the coroutine's. */
    public static function app(): App
    {
        $app = Container::getInstance();
        assert($app instanceof App);
        return $app;
    }

    /**
     * Whether to limit at all: false only without the extension, in debug mode,
     * where `without_extension` says so.
     *
     * @throws \RuntimeException without the extension otherwise
     */
    public function limits(): bool
    {
        return Extension::limits($this->config->withoutExtension, $this->production, $this->logger);
    }

    /** The limiter on the configured store. */
    public function limiter(): RateLimiter
    {
        return $this->limiter ??= new Limiter($this->config->store());
    }

    /** @return array<string, mixed> of the configured store, as {@see Store::status()} */
    public function status(): array
    {
        $store = $this->config->store() ?? (string) ini_get('sluice.store');
        $store = is_string($store) && $store !== '' ? Store::redis($store) : $store;
        return ($store instanceof Store ? $store : Store::sharedMemory())->status();
    }

    /** Asks all limits at once, all or nothing. */
    public function check(Request $request, Facts $facts, Limit ...$limits): Verdict
    {
        $this->guard ??= new Guard(
            $this->limiter(),
            $this->config->allowList(),
            new DenialLog(
                $this->logger,
                $this->config->logInterval,
                self::announce(...),
            ),
            $this->logger,
        );
        $verdict = $this->guard->check($facts, ...$limits);
        // Permits only: a verdict knows its request, and would keep it.
        $permits = $verdict->permits();
        if ($permits !== []) {
            $this->permits[$request] = [...$this->permits[$request] ?? [], ...$permits];
        }
        return $verdict;
    }

    /** Gives back what a request took, for it is refused after all. */
    public function takeBack(Verdict $verdict): void
    {
        if ($verdict->decision !== null) {
            $this->limiter()->refund($verdict->decision);
        }
    }

    /** Gives back the permits that a request holds: it has been answered. */
    public function release(Request $request): void
    {
        foreach ($this->permits[$request] ?? [] as $permit) {
            $permit->release();
        }
        unset($this->permits[$request]);
    }

    /** Whether it is the first time that the attributes of this request's action are asked. */
    public function firstTime(Request $request): bool
    {
        $first = !isset($this->attributed[$request]);
        $this->attributed[$request] = true;
        return $first;
    }

    /**
     * The limits of a policy for a request, those of specs told apart at whatever
     * places of the request they stand.
     *
     * @return list<Limit>
     * @throws \ValueError for a policy that nobody knows
     */
    public function limitsOf(string $policy, Request $request, Facts $facts): array
    {
        $specs = $this->specs[$request] ?? 0;
        $limits = $this->policies->apart($policy, $this->policies->limits($policy, $facts), $specs);
        $this->specs[$request] = $specs;
        return array_values($limits);
    }

    /** What limits go by. */
    public function facts(Request $request): Facts
    {
        return new Facts(
            ip: ($this->address ??= new Address($this->config->trustedProxies))->of($request),
            route: self::route($request),
            user: $this->config->user($request),
            method: $request->method(true),
            uri: $request->url(),
            // A field of the body comes before one of the query, which anyone may add.
            input: static fn (string $field): mixed => $request->post($field) ?? $request->param($field),
        );
    }

    /** Tells the log, at most once an hour on this host. */
    public function warn(string $message): void
    {
        $turn = (new Limiter(Store::sharedMemory()))->attempt(
            $message,
            Limit::fixedWindow(1, self::QUIET)->named('sluice-warning'),
        );
        if ($turn->allowed && !$turn->wouldDeny) {
            $this->logger->warning($message);
        }
    }

    private static function announce(Verdict $verdict): void
    {
        self::app()->event->trigger(new RequestDenied($verdict));
    }

    /**
     * The controller and its action; else the rule with its methods; empty before
     * the routing. In front of it the application, where there are several.
     */
    private static function route(Request $request): string
    {
        $application = self::app()->http->getName();
        return ($application === '' ? '' : $application . ':') . self::routeInApplication($request);
    }

    private static function routeInApplication(Request $request): string
    {
        $controller = $request->controller(true);
        if ($controller !== '') {
            // The client chooses upper and lower case, and PHP takes either.
            return $controller . '/' . $request->action(true);
        }
        $rule = $request->rule();
        return $rule instanceof RuleItem ? $rule->getMethod() . ' ' . (string) $rule->getRule() : '';
    }
}
