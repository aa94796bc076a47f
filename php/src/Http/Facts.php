<?php

declare(strict_types=1);

namespace Sluice\Http;

use Closure;
use Sluice\ClientAddress;

/**
 * What a limit may go by: the facts of one request, whatever framework took it.
 *
 * An adapter fills them in; nothing behind it knows the framework's request.
 */
final class Facts
{
    /**
     * @param string $ip the client's address, as {@see ClientAddress} or a
     *        framework with trusted proxies found it; never a header that
     *        nobody trusted
     * @param string $route the route's name; else its method and URI template.
     *        Not the URI itself: each id in it would have a limit of its own
     * @param string|null $user the identifier of the authenticated user
     * @param (Closure(string): mixed)|null $input reads a field of the request,
     *        for limits per account
     * @param string $realm which kind of user it is, where users of two kinds,
     *        such as customers and staff, may have the same identifier
     */
    public function __construct(
        public readonly string $ip,
        public readonly string $route,
        public readonly ?string $user = null,
        public readonly string $method = 'GET',
        public readonly string $uri = '',
        private readonly ?Closure $input = null,
        public readonly string $realm = '',
    ) {
    }

    /**
     * The facts of a request without a framework.
     *
     * ```php
     * $facts = Facts::ofServer($_SERVER, new ClientAddress(['10.0.0.0/8']), route: 'report');
     * ```
     *
     * @param array<string, mixed> $server `$_SERVER`
     * @param string|null $route by default the file of the script. Not its name
     *        in the URI, nor the method: a client may write what it likes there,
     *        and would have a limit of its own each time
     */
    public static function ofServer(
        array $server,
        ClientAddress $address = new ClientAddress(),
        ?string $route = null,
        ?string $user = null,
    ): self {
        $text = static fn (string $name): string => is_string($server[$name] ?? null) ? $server[$name] : '';
        return new self(
            ip: $address->of($text('REMOTE_ADDR'), $text('HTTP_X_FORWARDED_FOR')),
            route: $route ?? self::file($text('SCRIPT_FILENAME')),
            user: $user,
            method: $text('REQUEST_METHOD') ?: 'GET',
            uri: $text('REQUEST_URI'),
        );
    }

    private static function file(string $path): string
    {
        return $path === '' ? '' : (realpath($path) ?: $path);
    }

    /**
     * The key part of who asks: the user where one is known, else the address,
     * an IPv6 client by its /64.
     */
    public function client(): string
    {
        return match (true) {
            $this->user === null => $this->address(),
            $this->realm === '' => Key::of('user', $this->user),
            default => Key::of('user', $this->realm, $this->user),
        };
    }

    /** The key part of the address, an IPv6 client by its /64. */
    public function address(): string
    {
        return Key::of('ip', ClientAddress::network($this->ip));
    }

    /**
     * The key part of an account that is named in the request, such as the
     * e-mail address of a login. Upper and lower case are the same account; a
     * field that is not there counts as empty, for leaving it out must be no
     * way around the limit.
     */
    public function account(string $field): string
    {
        $value = $this->input === null ? null : ($this->input)($field);
        $text = is_scalar($value) ? trim((string) $value) : '';
        $folded = function_exists('mb_strtolower') && preg_match('//u', $text) === 1
            ? mb_strtolower($text, 'UTF-8')
            : strtolower($text);
        return Key::of('account', $field, $folded);
    }
}
