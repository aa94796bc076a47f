<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\PhpResult;
use Sluice\Tests\Support\TempDir;
use Sluice\Tests\Support\ThinkApp;

/** `php think sluice:why`, `sluice:reset`, `sluice:routes`. */
final class CommandsTest extends ThinkTestCase
{
    public function testWhyAndResetFollowWhatWasTyped(): void
    {
        $ini = ['sluice.shm_path' => TempDir::make()->file('counts')];
        $app = ThinkApp::make()->serve($ini);
        $think = static fn (string ...$arguments): PhpResult => $app->thinkWith($ini, ...$arguments);
        self::assertStringContainsString('Nothing is spent', $think('sluice:why', 'ip:192.0.2.1')->stdout);

        $sign = static fn (): int => $app->request('POST', '/signin', [], 'email=ann@example.org', '192.0.2.1')->status;
        self::assertSame([200, 200, 429], [$sign(), $sign(), $sign()]);
        $app->get('/spec', ip: '192.0.2.1');
        $app->get('/posts', ip: '192.0.2.1');
        $app->request('POST', '/posts', ip: '192.0.2.1');

        $why = $think('sluice:why', 'account:email=Ann@example.org')->stdout;
        self::assertMatchesRegularExpression(
            '~^login\.0 \(2/h\): the next request is refused\. 0 of 2 left; it passes in \d+ min; '
                . 'full again in \d+ min\. Asked: shared-memory\.$~m',
            $why,
        );
        self::assertStringNotContainsString('login.1', $why);
        $why = $think('sluice:why', 'ip:192.0.2.1')->stdout;
        self::assertStringContainsString('login.1 (5/h): the next request passes. 3 of 5 left', $why);
        self::assertStringContainsString('2/h on shop/index: the next request passes. 1 of 2 left', $why);
        self::assertStringContainsString('throttle.route (2/h fixed) on shop/index: the next request passes. 1 of 2', $why);
        self::assertStringContainsString('its key is a closure', $why);
        self::assertStringContainsString('5 of 5 left', $think('sluice:why', 'ip:192.0.2.9', 'login')->stdout);
        // As the log has it: key and policy.
        self::assertStringContainsString(
            'login.0 (2/h): the next request is refused',
            $think('sluice:why', '7:account,5:email,15:ann@example.org', 'login')->stdout,
        );

        $reset = $think('sluice:reset', 'account:email=ann@example.org')->stdout;
        self::assertSame(1, substr_count($reset, 'Forgotten: '));
        self::assertStringContainsString('Forgotten: login.0 (2/h).', $reset);
        self::assertSame(200, $sign());
        self::assertStringContainsString('Nothing was spent.', $think('sluice:reset', 'ip:192.0.2.77')->stdout);
    }

    public function testTheKeyOfAnAttributeIsFoundAsTheLogHasIt(): void
    {
        $ini = ['sluice.shm_path' => TempDir::make()->file('counts')];
        $app = ThinkApp::make()->serve($ini);
        self::statuses(3, static fn () => $app->get('/api/attributed'));
        $app->waitForLog('Refused by a rate limit');
        preg_match('/\{.*\}/', $app->log(), $line);
        ['key' => $key, 'policy' => $policy] = json_decode($line[0], true);
        self::assertSame('throttle.attribute.0', $policy);
        $why = $app->thinkWith($ini, 'sluice:why', $key, $policy)->stdout;
        $words = 'throttle.attribute.0 (2/h fixed) on app\controller\Api::attributed: the next request is refused';
        self::assertStringContainsString($words, $why);
        self::assertStringContainsString('Forgotten: ', $app->thinkWith($ini, 'sluice:reset', $key, $policy)->stdout);
        self::assertSame(200, $app->get('/api/attributed')->status);
        $typed = $app->thinkWith($ini, 'sluice:why', 'ip:127.0.0.1', $policy);
        self::assertSame(1, $typed->exitCode);
        self::assertStringContainsString('give the key as the log has it', $typed->stdout . $typed->stderr);
    }

    public function testWhatEverybodySpendsIsNotOnesOwnToForget(): void
    {
        $ini = ['sluice.shm_path' => TempDir::make()->file('counts')];
        $app = ThinkApp::make()->serve($ini);
        $app->get('/driver');
        $why = $app->thinkWith($ini, 'sluice:why', 'ip:127.0.0.1', 'five-an-hour')->stdout;
        self::assertStringContainsString('five-an-hour (5/h), shared with others: the next request passes. 4 of 5', $why);
        $reset = $app->thinkWith($ini, 'sluice:reset', 'ip:127.0.0.1')->stdout;
        self::assertStringContainsString('Nothing was spent.', $reset);
        $after = $app->thinkWith($ini, 'sluice:why', 'ip:127.0.0.1', 'five-an-hour')->stdout;
        self::assertStringContainsString('4 of 5 left', $after);
    }

    public function testACommandSaysWhatItCannotSee(): void
    {
        $app = ThinkApp::make();
        self::assertStringContainsString(
            'This command has shared memory of its own',
            $app->think('sluice:why', 'ip:192.0.2.1')->stdout,
        );
        $unknown = $app->think('sluice:why', 'ip:192.0.2.1', 'nobody-knows');
        self::assertNotSame(0, $unknown->exitCode);
        self::assertStringContainsString('there is no policy "nobody-knows"', $unknown->stdout . $unknown->stderr);
    }

    public function testRoutesAndWhatLimitsThem(): void
    {
        $app = ThinkApp::make();
        $result = $app->think('sluice:routes', '--json');
        self::assertSame(1, $result->exitCode, 'one is not limited');
        $routes = array_column(json_decode($result->stdout, true), null, 'rule');
        self::assertSame(['methods' => 'GET', 'rule' => 'plain', 'limits' => []], $routes['plain']);
        self::assertSame(['policy login'], $routes['signin']['limits']);
        self::assertSame(['policy login'], $routes['signin-by-name']['limits']);
        self::assertSame(['2/h by posts/__IP__ (POST)'], $routes['posts']['limits']);
        self::assertSame(['think-throttle'], $routes['rate']['limits']);
        self::assertSame(['1/h by forgotten/__IP__ (GET, HEAD)'], $routes['forgotten']['limits']);
        self::assertStringContainsString('| GET', $app->think('sluice:routes')->stdout);

        $app->write('config/sluice.php', self::config(['drop_in' => true]));
        $app->write('app/middleware.php', '<?php return [think\middleware\Throttle::class];');
        $result = $app->think('sluice:routes', '--json');
        $routes = array_column(json_decode($result->stdout, true), null, 'rule');
        self::assertSame(['100/m by __IP__ (GET, HEAD)'], $routes['plain']['limits']);
        self::assertSame(0, $result->exitCode);
    }

    public function testWithoutTheExtensionACommandSaysSo(): void
    {
        $result = ThinkApp::make()->codeWithoutTheExtension(
            '(new think\App())->console->call("sluice:why", ["ip:192.0.2.1"], "console");',
        );
        self::assertStringContainsString('The PHP extension "sluice" is not loaded', $result->stdout . $result->stderr);
    }
}
