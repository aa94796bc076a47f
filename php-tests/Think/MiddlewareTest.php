<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\ThinkApp;
use Sluice\Tests\Support\Wait;

/** What the middleware does that think-throttle does not. */
final class MiddlewareTest extends ThinkTestCase
{
    public function testALoginIsLimitedByAccountAndAddressWhateverTheFilesMethodsAre(): void
    {
        // The file that think-throttle publishes limits GET and HEAD.
        $app = ThinkApp::make()->serve();
        $sign = static fn (string $email, string $ip, string $path = '/signin'): int
            => $app->request('POST', $path, [], 'email=' . rawurlencode($email), $ip)->status;
        self::assertSame([200, 200, 429], [
            $sign('ann@example.org', '192.0.2.1'),
            $sign('ANN@example.org', '192.0.2.2'),
            $sign('ann@example.org ', '192.0.2.3'),
        ], 'one account, from anywhere');
        $many = [];
        for ($number = 1; $number <= 1000; $number++) {
            $many[] = $sign("user{$number}@example.org", '192.0.2.9');
        }
        self::assertSame([200, 200, 200, 200, 200], array_slice($many, 0, 5));
        self::assertSame([429 => 995], array_count_values(array_slice($many, 5)), 'many accounts, one address');
        self::assertSame(200, $sign('user999@example.org', '192.0.2.10'), 'none of them paid for the refusals');
        self::assertSame(429, $sign('ann@example.org', '192.0.2.4', '/signin-by-name'), 'the policy by its name alone');
        $added = $app->request('POST', '/signin?email=else', [], 'email=ann@example.org', '192.0.2.5');
        self::assertSame(429, $added->status, 'a field of the query in front of that of the body');
    }

    public function testAFileThatListsNoMethodsLimitsAll(): void
    {
        $app = ThinkApp::make(['config/throttle.php' => self::config(['visit_rate' => '2/h'])])->serve();
        self::assertSame([200, 200, 429], self::statuses(3, static fn () => $app->request('POST', '/by-file')));
        self::assertSame(429, $app->get('/by-file')->status, 'one count for all methods');
        self::assertSame(200, $app->get('/by-file', ip: '192.0.2.7')->status);
    }

    public function testSpecsOfOneKindAreLimitsOfTheirOwn(): void
    {
        $ini = ['sluice.shm_path' => TempDir::make()->file('counts')];
        $app = ThinkApp::make()->serve($ini);
        self::assertSame([200, 200, 200, 429], self::statuses(4, static fn () => $app->get('/two-specs')));
        $why = $app->thinkWith($ini, 'sluice:why', 'ip:127.0.0.1')->stdout;
        self::assertStringContainsString('1/h burst 4) on shop/index: the next request is refused. 0 of 4', $why);
        self::assertStringContainsString('2/h burst 3) on shop/index: the next request is refused. 0 of 3', $why);
    }

    public function testAMethodThatTheClientMakesUpIsNoWayOut(): void
    {
        $app = ThinkApp::make()->serve();
        $put = static fn () => $app->request('POST', '/posts', ['X-HTTP-Method-Override' => 'PUT']);
        self::assertSame([200, 200, 429], self::statuses(3, $put));
        self::assertSame(200, $app->get('/posts')->status);
    }

    public function testUpperAndLowerCaseAreOneAction(): void
    {
        $app = ThinkApp::make()->serve();
        self::assertSame([200, 200, 429], array_map(
            static fn (string $target): int => $app->get($target)->status,
            ['/api/attributed', '/api/ATTRIBUTED', '/api/Attributed'],
        ));
        self::assertSame([200, 200, 429], array_map(
            static fn (string $target): int => $app->get($target)->status,
            ['/api/named', '/api/NAMED', '/api/Named'],
        ));
    }

    public function testAttributesOfOurs(): void
    {
        $app = ThinkApp::make(['config/throttle.php' => self::config(['visit_rate' => '100/m'])])->serve();
        self::assertSame([200, 200], self::statuses(2, static fn () => $app->get('/api/both')));
        $refused = $app->get('/api/both');
        self::assertSame(429, $refused->status);
        self::assertMatchesRegularExpression('/^busy, \d+ s$/', $refused->body);
        // The refusals took nothing of the other limit: one of three is left for somebody else.
        self::assertSame([200, 429], self::statuses(2, static fn () => $app->get('/api/both', ip: '192.0.2.8')));
        // A route that leads to a class has no controller for ThinkPHP.
        self::assertSame([200, 200, 429], self::statuses(3, static fn () => $app->get('/to-a-class')));
        // A policy that the action and its route name is one.
        self::assertSame([200, 200, 429], self::statuses(3, static fn () => $app->get('/again')));
        // Two middlewares, one count of the attribute, and the headers of what has least left.
        $twice = $app->get('/twice', ip: '192.0.2.20');
        self::assertSame('2', $twice->headers['x-rate-limit-limit']);
        self::assertSame('1', $twice->headers['x-rate-limit-remaining']);
        self::assertSame('5', $app->get('/nested')->headers['x-rate-limit-limit']);
    }

    public function testNobodyChoosesHisAddress(): void
    {
        $app = ThinkApp::make()->serve();
        $from = static fn (string $said): int
            => $app->get('/spec', ['X-Forwarded-For' => $said, 'X-Real-IP' => $said, 'Client-IP' => $said])->status;
        self::assertSame([200, 200, 429], [$from('6.6.6.1'), $from('6.6.6.2'), $from('6.6.6.3')]);
        $six = static fn (string $ip): int => $app->get('/spec', ip: $ip)->status;
        $one = array_map($six, ['2001:db8::1', '2001:db8::2', '2001:db8::ffff:3']);
        self::assertSame([200, 200, 429], $one, 'a /64 is one client');
        self::assertSame(200, $six('2001:db8:0:1::1'));
    }

    /** @dataProvider proxies */
    public function testBehindAProxyTheListIsWalkedFromTheRight(array $files): void
    {
        $app = ThinkApp::make($files)->serve();
        $from = static fn (string $forwarded, string $ip): int
            => $app->get('/spec', ['X-Forwarded-For' => $forwarded], $ip)->status;
        self::assertSame(
            [200, 200, 429],
            [
                $from('1.1.1.1, 203.0.113.5', '10.0.0.1'),
                $from('2.2.2.2, 203.0.113.5', '10.0.0.1'),
                $from('203.0.113.5', '10.0.0.2'),
            ],
            'what the client wrote in front is not looked at',
        );
        self::assertSame(200, $from('203.0.113.5, 203.0.113.6', '10.0.0.1'));
        $direct = array_map(static fn (int $last): int => $from("7.7.7.{$last}", '192.0.2.1'), [1, 2, 3]);
        self::assertSame([200, 200, 429], $direct);
    }

    /** @return iterable<string, array{array<string, string>}> */
    public static function proxies(): iterable
    {
        yield 'told to us' => [['config/sluice.php' => self::config(['trusted_proxies' => ['10.0.0.0/8']])]];
        yield 'told to ThinkPHP' => [[
            'app/Request.php' => '<?php namespace app; class Request extends \think\Request'
                . ' { protected $proxyServerIp = ["10.0.0.0/8"]; }',
        ]];
    }

    public function testAHeaderThatTheProxyDoesNotWriteChoosesNoKey(): void
    {
        $app = ThinkApp::make(iterator_to_array(self::proxies())['told to ThinkPHP'][0])->serve();
        // The proxy writes X-Real-IP; the other header comes from the client.
        $from = static fn (string $forwarded): int => $app->get('/spec', [
            'X-Real-IP' => '203.0.113.5', 'X-Forwarded-For' => $forwarded,
        ], '10.0.0.1')->status;
        self::assertSame([200, 200, 429], array_map($from, ['1.1.1.1', '2.2.2.2', '3.3.3.3']));
        $honest = static fn (string $client): int => $app->get('/spec', [
            'X-Real-IP' => $client, 'X-Forwarded-For' => "9.9.9.9, {$client}",
        ], '10.0.0.1')->status;
        self::assertSame([200, 200, 429], array_map($honest, array_fill(0, 3, '203.0.113.6')), 'two that agree');
    }

    public function testASessionCountsOnceSomethingIsInIt(): void
    {
        $app = ThinkApp::make(['config/sluice.php' => self::config([])])->serve();
        $cookie = static fn (string $letter): array => ['Cookie' => 'PHPSESSID=' . str_repeat($letter, 32)];
        self::assertSame([200, 200, 429], [
            $app->get('/session')->status,
            $app->get('/session', $cookie('a'))->status,
            $app->get('/session', $cookie('b'))->status,
        ], 'sessions that a client made up count by its address');
        $app->write('route/signin.php', '<?php think\facade\Route::post("sign-in", "shop/login");');
        $app->request('POST', '/sign-in', $cookie('c'), 'email=ann');
        // ThinkPHP writes sessions after the answer was sent.
        $session = $app->path('runtime/session/sess_' . str_repeat('c', 32));
        Wait::until('the session is written', static fn (): bool => (string) @file_get_contents($session) !== '');
        $mine = $app->get('/session', $cookie('c'));
        self::assertSame([200, 'ann'], [$mine->status, $mine->body]);
    }

    public function testClosures(): void
    {
        $app = ThinkApp::make()->serve();
        self::assertSame([200, 200], self::statuses(2, static fn () => $app->get('/null')), 'null is nobody');
        self::assertSame([200, 429], self::statuses(2, static fn () => $app->get('/number?user=5')));
        self::assertSame(200, $app->get('/number?user=6')->status);
        // Typed with our class.
        self::assertSame([200, 429], self::statuses(2, static fn () => $app->get('/ours?user=a&plan=small')));
        self::assertSame([200, 200], self::statuses(2, static fn () => $app->get('/ours?user=b')));
    }

    public function testWhatADriverOfItsOwnRefusesCostsNothingElse(): void
    {
        $app = ThinkApp::make()->serve();
        self::assertSame([200, 200, 429, 429, 429, 429], self::statuses(6, static fn () => $app->get('/driver')));
        // Five an hour, of which the driver let two through.
        $app->write('route/left.php', '<?php think\facade\Route::get("left", "shop/index")'
            . '->middleware(Sluice\Think\Throttle::class, ["policy" => "five-an-hour"]);');
        self::assertSame('2', $app->get('/left')->headers['x-rate-limit-remaining']);
    }

    public function testMistakesAreSaid(): void
    {
        $app = ThinkApp::make()->serve();
        self::assertSame(500, $app->get('/wrong')->status);
        self::assertSame(500, $app->get('/unknown')->status);
        $app->waitForLog('the rate "often" is not of the form "10/m"');
        $app->waitForLog('there is no policy "nobody-knows"; configured are: login');
        $app->write('config/sluice.php', self::config(['polices' => []]));
        self::assertSame(500, $app->get('/spec')->status);
        $app->waitForLog('config/sluice.php does not know "polices"; it takes drop_in');
        self::assertStringContainsString('"often"', $app->log());
    }
}
