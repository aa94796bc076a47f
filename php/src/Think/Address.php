<?php

declare(strict_types=1);

namespace Sluice\Think;

use Sluice\ClientAddress;
use think\Request;

/**
 * The client's address of a ThinkPHP request.
 *
 * `$request->ip()` takes the first entry of `X-Forwarded-For`, which the client
 * writes. Here the list is walked from the right, over the proxies that are known.
 */
final class Address
{
    private const FORWARDED_FOR = 'HTTP_X_FORWARDED_FOR';

    private readonly ?ClientAddress $trusting;

    /**
     * @param list<string>|null $trusted proxies; null: as the request's class says
     * @throws \ValueError if one is neither an address nor a CIDR
     */
    public function __construct(?array $trusted = null)
    {
        $this->trusting = $trusted === null ? null : new ClientAddress($trusted);
    }

    public function of(Request $request): string
    {
        $remote = (string) $request->server('REMOTE_ADDR', '');
        if ($this->trusting !== null) {
            return $this->trusting->of($remote, self::header($request, self::FORWARDED_FOR));
        }
        // What an application has told its framework already, in `app\Request`.
        [$proxies, $headers] = self::toldToThinkPhp($request);
        if ($proxies === []) {
            return $remote;
        }
        // A proxy writes one of them or several, and what it does not write comes
        // from the client. Where they do not say the same, somebody lies: then it
        // is whoever holds the connection.
        $trusting = new ClientAddress(array_values($proxies));
        $told = array_filter(array_map(static fn (string $name): string => self::header($request, $name), $headers));
        $clients = array_unique(array_map(static fn (string $hops): string => $trusting->of($remote, $hops), $told));
        return count($clients) === 1 ? reset($clients) : $remote;
    }

    /** @return array{array<string>, list<string>} proxies, and the headers that they write */
    private static function toldToThinkPhp(Request $request): array
    {
        $read = static fn (Request $request): array => [$request->proxyServerIp, $request->proxyServerIpHeader];
        /** @var array{array<string>, list<string>} $told */
        $told = \Closure::bind($read, null, Request::class)($request);
        return $told;
    }

    private static function header(Request $request, string $name): string
    {
        return (string) $request->server($name, '');
    }
}
