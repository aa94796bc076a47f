<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\Checkout;
use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\LaravelApp;
use Sluice\Tests\Support\TestCase;

/**
 * The same requests to an application with Laravel's own `throttle` and to one
 * with the drop-in: the same answers.
 *
 * Where it is different on purpose: {@see DropInDifferencesTest}.
 */
final class DropInTest extends TestCase
{
    private const JSON = ['Accept' => 'application/json'];

    /** @return iterable<string, array{list<array<mixed>>, 1?: string}> requests, and from which version on */
    public static function requests(): iterable
    {
        $get = static fn (string $path, array $headers = [], string $ip = '192.0.2.1'): array =>
            ['GET', "/api{$path}", $headers + self::JSON, '', $ip];
        $as = static fn (string $user): array => ['Authorization' => "Bearer {$user}"];
        $times = static fn (int $times, array $request): array => array_fill(0, $times, $request);

        yield 'a named limiter' => [$times(5, $get('/named/api'))];
        yield 'a page for a browser' => [$times(4, $get('/named/api', ['Accept' => 'text/html']))];
        yield 'another method' => [[
            ...$times(2, $get('/named/api')),
            ...$times(2, ['HEAD', '/api/named/api', self::JSON, '', '192.0.2.1']),
        ]];
        yield 'guests by their address' => [[
            ...$times(4, $get('/named/api')),
            ...$times(4, $get('/named/api', ip: '192.0.2.2')),
        ]];
        yield 'users by themselves' => [[
            ...$times(4, $get('/named/api', $as('1'))),
            ...$times(4, $get('/named/api', $as('2'))),
            ...$times(4, $get('/named/api')),
            $get('/named/api', $as('1'), ip: '192.0.2.2'),
        ]];
        yield 'an array of one limit' => [$times(3, $get('/named/array-of-one'))];
        yield 'the first of two limits refuses' => [[
            ...$times(3, $get('/named/both?account=a')),
            $get('/named/both?account=b'),
        ]];
        yield 'the second of two limits refuses' => [[
            ...$times(2, $get('/named/both?account=a')),
            ...$times(2, $get('/named/both?account=b')),
            $get('/named/both?account=c'),
        ]];
        yield 'both limits refuse' => [[
            ...$times(2, $get('/named/both?account=a')),
            ...$times(2, $get('/named/both?account=b')),
            $get('/named/both?account=a'),
        ]];
        yield 'no limit' => [$times(3, $get('/named/none'))];
        yield 'no limit and one of two' => [$times(3, $get('/named/none-and-two'))];
        yield 'a limit without a key' => [[
            ...$times(2, $get('/named/no-key')),
            $get('/named/no-key', ip: '192.0.2.2'),
        ]];
        yield 'a response of the limit' => [$times(3, $get('/named/custom'))];
        yield 'a response of the limiter' => [$times(2, $get('/named/response'))];
        yield 'hours' => [$times(3, $get('/named/hours'))];
        yield 'limits per plan' => [[
            ...$times(2, $get('/named/plans?plan=gold')),
            ...$times(2, $get('/named/plans?plan=silver')),
            ...$times(2, $get('/named/plans', ip: '192.0.2.2')),
        ]];
        yield 'two numbers' => [$times(3, $get('/numbers'))];
        yield 'two routes without a prefix' => [[
            ...$times(2, $get('/numbers')),
            $get('/numbers-too'),
        ]];
        yield 'two routes with a prefix' => [[
            ...$times(3, $get('/prefix-a')),
            ...$times(3, $get('/prefix-b')),
        ]];
        yield 'a number for guests and one for users' => [[
            ...$times(2, $get('/guests-and-users')),
            ...$times(4, $get('/guests-and-users', $as('1'))),
        ]];
        yield 'an attribute of the user' => [[
            ...$times(3, $get('/attribute', $as('1:2'))),
            ...$times(2, $get('/attribute', $as('2:1'))),
        ]];
        yield 'an attribute that changes' => [[
            ...$times(2, $get('/attribute', $as('1:2'))),
            ...$times(2, $get('/attribute', $as('1:3'))),
            $get('/attribute', $as('1:1')),
        ]];
        yield 'a number for guests and an attribute for users' => [[
            ...$times(2, $get('/guests-and-attribute')),
            ...$times(3, $get('/guests-and-attribute', $as('1:2'))),
        ]];
        yield 'the class by its name' => [$times(3, $get('/class'))];
        yield 'nothing but throttle' => [[$get('/default')]];
        yield 'half a minute' => [$times(2, $get('/half-a-minute'))];
        yield 'two throttles on a route' => [$times(4, $get('/nested'))];
        yield 'authentication comes first' => [[
            ...$times(4, $get('/after-auth')),
            ...$times(3, $get('/after-auth', $as('1'))),
        ]];
        yield 'a controller that fails' => [$times(3, $get('/fails'))];
        yield 'nothing there' => [$times(3, $get('/not-found'))];
        yield 'a streamed answer' => [$times(3, $get('/streamed'))];
        yield 'a controller that refuses by itself' => [[$get('/throws-its-own')]];
        $login = static fn (string $password, string $email = 'a@example.org'): array => [
            'POST', '/api/login', self::JSON, http_build_query(compact('email', 'password')), '192.0.2.1',
        ];
        yield 'logins' => [[
            ...$times(4, $login('wrong')),
            $login('wrong', 'A@EXAMPLE.org'),
            $login('right'),
            $login('right', 'b@example.org'),
        ]];
        yield 'a login that succeeds' => [[
            ...$times(2, $login('wrong')),
            $login('right'),
            ...$times(4, $login('wrong')),
        ]];
        yield 'attempts in a controller' => [$times(4, $get('/attempt'))];

        yield 'middleware written by using()' => [$times(4, $get('/using')), '10'];
        yield 'middleware written by with()' => [$times(3, $get('/with')), '10'];
        yield 'seconds' => [$times(3, $get('/named/per-second')), '11'];
        yield 'two limits with one key' => [$times(3, $get('/named/one-key')), '11'];
        yield 'a limiter named by an enum' => [$times(3, $get('/enum')), '12'];
        yield 'charged by the answer' => [[
            ...$times(3, $get('/named/after')),
            ...$times(2, $get('/named/after?miss=1')),
            $get('/named/after'),
        ], '12'];
        yield 'one limit charged by the answer and one before' => [[
            $get('/named/after-and-before'),
            ...$times(2, $get('/named/after-and-before?miss=1')),
            ...$times(2, $get('/named/after-and-before')),
        ], '12'];
    }

    /**
     * @dataProvider requests
     * @param list<array<mixed>> $requests
     */
    public function testTheAnswersAreTheSame(array $requests, string $from = '8'): void
    {
        if (version_compare(LaravelApp::version(), $from, '<')) {
            $this->expectNotToPerformAssertions();
            Checkout::of('LARAVEL_DIR', "what came with Laravel {$from}");
            return;
        }
        $routes = (string) file_get_contents(dirname(__DIR__) . '/Fixtures/laravel-throttled-routes.php');
        $answers = [];
        $began = time();
        foreach ([false, true] as $dropIn) {
            $app = LaravelApp::make(['SLUICE_DROP_IN' => $dropIn], ['routes/api.php' => $routes])->serve();
            $answers[] = array_map(static fn (array $request) => $app->request(...$request), $requests);
            if ($dropIn) {
                $this->assertSame([], glob($app->path('storage/framework/cache/data/*')), "Laravel's cache is not asked");
            }
        }
        // Laravel counts whole seconds of the clock, and they have passed meanwhile.
        $seconds = 1 + time() - $began;
        foreach ($requests as $number => $request) {
            $place = "request {$number}: {$request[1]}";
            [$theirs, $ours] = [$answers[0][$number], $answers[1][$number]];
            $this->assertSame(self::told($theirs), self::told($ours), $place);
            foreach (['retry-after', 'x-ratelimit-reset'] as $name) {
                $this->assertSame(isset($theirs->headers[$name]), isset($ours->headers[$name]), "{$place}: {$name}");
                $difference = abs((int) ($theirs->headers[$name] ?? 0) - (int) ($ours->headers[$name] ?? 0));
                $this->assertLessThanOrEqual($seconds, $difference, "{$place}: {$name}");
            }
        }
    }

    /** @return array<string, mixed> what does not depend on the time of day */
    private static function told(HttpResponse $response): array
    {
        $headers = array_intersect_key($response->headers, array_flip([
            'x-ratelimit-limit', 'x-ratelimit-remaining', 'content-type', 'x-of', 'x-trace',
        ]));
        ksort($headers);
        return ['status' => $response->status, 'headers' => $headers, 'body' => $response->body];
    }
}
