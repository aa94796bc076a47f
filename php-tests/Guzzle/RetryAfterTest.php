<?php

declare(strict_types=1);

namespace Sluice\Tests\Guzzle;

use GuzzleHttp\Psr7\Response;
use Sluice\Guzzle\RetryAfter;
use Sluice\Tests\Support\TestCase;

/** What partners write, and what it means in seconds. */
final class RetryAfterTest extends TestCase
{
    private const NOW = 1_700_000_000;   // Tue, 14 Nov 2023 22:13:20 GMT

    /** @dataProvider answers */
    public function testWhatAnAnswerSays(?int $seconds, int $status, array $headers): void
    {
        self::assertSame($seconds, RetryAfter::of(new Response($status, $headers), self::NOW));
    }

    public static function answers(): iterable
    {
        yield 'seconds' => [120, 429, ['Retry-After' => '120']];
        yield 'seconds of an outage' => [5, 503, ['Retry-After' => ' 5 ']];
        yield 'no time at all' => [0, 429, ['Retry-After' => '0']];
        yield 'the first of two' => [3, 429, ['Retry-After' => ['3', '9']]];
        yield 'a date' => [40, 429, ['Retry-After' => 'Tue, 14 Nov 2023 22:14:00 GMT']];
        yield 'a date gone by' => [0, 429, ['Retry-After' => 'Tue, 14 Nov 2023 22:13:00 GMT']];
        yield 'a date of RFC 850' => [40, 429, ['Retry-After' => 'Tuesday, 14-Nov-23 22:14:00 GMT']];
        yield 'a date of asctime' => [40, 429, ['Retry-After' => 'Tue Nov 14 22:14:00 2023']];
        yield 'a date by a clock an hour ahead' => [
            10,
            503,
            ['Date' => 'Tue, 14 Nov 2023 23:13:20 GMT', 'Retry-After' => 'Tue, 14 Nov 2023 23:13:30 GMT'],
        ];
        yield 'a Date that is none' => [40, 429, ['Date' => 'soon', 'Retry-After' => 'Tue, 14 Nov 2023 22:14:00 GMT']];
        yield 'no header' => [null, 429, []];
        yield 'another status' => [null, 301, ['Retry-After' => '120']];
        yield 'a word' => [null, 429, ['Retry-After' => 'tomorrow']];
        yield 'a fraction' => [null, 429, ['Retry-After' => '1.5']];
        yield 'a negative number' => [null, 429, ['Retry-After' => '-1']];
        yield 'a number of another world' => [null, 429, ['Retry-After' => str_repeat('9', 40)]];
    }

    public function testWithoutAClockItIsThatOfTheMachine(): void
    {
        $date = gmdate('D, d M Y H:i:s \G\M\T', time() + 100);
        self::assertEqualsWithDelta(100, RetryAfter::of(new Response(429, ['Retry-After' => $date])), 5);
    }
}
