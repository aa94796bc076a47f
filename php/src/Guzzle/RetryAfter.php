<?php

declare(strict_types=1);

namespace Sluice\Guzzle;

use DateTimeImmutable;
use DateTimeZone;
use Psr\Http\Message\ResponseInterface;

/**
 * What a partner says of when to come back.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
final class RetryAfter
{
    /** The three forms of a date in HTTP. */
    private const DATES = ['!D, d M Y H:i:s \G\M\T', '!l, d-M-y H:i:s \G\M\T', '!D M j H:i:s Y'];

    /**
     * Seconds to stay away after this answer: `Retry-After` of a 429 or 503, in
     * seconds or as a date. Null where it says nothing that can be understood.
     *
     * A date is held against the answer's own `Date`, so that a partner whose
     * clock is wrong still gets the time it meant.
     *
     * ```php
     * RetryAfter::of(new Response(429, ['Retry-After' => '120']));   // 120
     * ```
     *
     * @param int|null $now Unix seconds, where the answer has no `Date`
     */
    public static function of(ResponseInterface $response, ?int $now = null): ?int
    {
        if (!in_array($response->getStatusCode(), [429, 503], true)) {
            return null;
        }
        $text = trim($response->getHeader('Retry-After')[0] ?? '');
        if (preg_match('/^\d{1,10}$/', $text) === 1) {
            return (int) $text;
        }
        $until = self::date($text);
        if ($until === null) {
            return null;
        }
        return max(0, $until - (self::date($response->getHeaderLine('Date')) ?? $now ?? time()));
    }

    private static function date(string $text): ?int
    {
        foreach (self::DATES as $format) {
            $date = DateTimeImmutable::createFromFormat($format, $text, new DateTimeZone('UTC'));
            if ($date !== false) {
                return $date->getTimestamp();
            }
        }
        return null;
    }
}
