<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

use Sluice\Tests\Support\Checkout;
use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\LaravelApp;

/** Where the drop-in is not as Laravel's own, on purpose. */
final class DropInDifferencesTest extends LaravelTestCase
{
    public function testOfTwoLimitsNoneIsChargedWhereOneRefuses(): void
    {
        // One account may do it once, one address three times.
        $targets = ['?account=a', '?account=a', '?account=a', '?account=b', '?account=c', '?account=d'];
        [$theirs, $ours] = self::both('/api/named/siblings', $targets);

        $this->assertSame([200, 429, 429, 200, 200, 429], self::statusesOf($ours));
        // Laravel looks at all of them first from version 13 on.
        $this->assertSame(
            version_compare(LaravelApp::version(), '13', '<')
                ? [200, 429, 429, 429, 429, 429]
                : [200, 429, 429, 200, 200, 429],
            self::statusesOf($theirs),
        );
    }

    public function testJobsAreNotChargedByTheirFirstLimitWhereTheSecondRefuses(): void
    {
        $code = <<<'PHP'
            use Illuminate\Cache\RateLimiting\Limit;
            use Illuminate\Support\Facades\RateLimiter;
            RateLimiter::for('jobs', fn () => [Limit::perMinute(9)->by('first'), Limit::perMinute(1)->by('second')]);
            $job = new class { public function release() {} };
            foreach (range(1, 5) as $_) {
                (new Illuminate\Queue\Middleware\RateLimited('jobs'))->handle($job, fn () => null);
            }
            echo json_encode(RateLimiter::attempts(md5('jobsfirst')));
            PHP;
        $this->assertSame([5, 1], self::said($code));
    }

    public function testTwoLimitsWithOneKeyCountApartInOldVersionsToo(): void
    {
        [$theirs, $ours] = self::both('/api/named/one-key', ['', '', '']);

        $this->assertSame([200, 200, 429], self::statusesOf($ours));
        $this->assertSame(
            version_compare(LaravelApp::version(), '11', '<') ? [200, 429, 429] : [200, 200, 429],
            self::statusesOf($theirs),
        );
    }

    public function testTheSameLimitTwiceCountsOnce(): void
    {
        [$theirs, $ours] = self::both('/api/named/twice', ['', '', '', '']);

        $this->assertSame([200, 200, 200, 429], self::statusesOf($ours));
        $this->assertNotSame(self::statusesOf($theirs), self::statusesOf($ours));
    }

    public function testALimitOfZeroRefusesFromTheFirstRequestOn(): void
    {
        [$theirs, $ours] = self::both('/api/named/zero', ['', '']);

        $this->assertSame([200, 429], self::statusesOf($theirs));
        $this->assertSame([429, 429], self::statusesOf($ours));
        $this->assertSame('0', $ours[0]->headers['x-ratelimit-limit']);
        $this->assertSame('0', $ours[0]->headers['x-ratelimit-remaining']);
        $this->assertSame('60', $ours[0]->headers['retry-after'], 'it can never pass, but callbacks read the header');
    }

    public function testTheResponseOfALimitOfZeroIsCalled(): void
    {
        [, $ours] = self::both('/api/named/zero-with-response', ['']);

        $this->assertSame(429, $ours[0]->status);
        $this->assertSame('zero', $ours[0]->headers['x-of']);
        $this->assertContains('Retry-After', $ours[0]->json()['knows']);
    }

    public function testAGuestWithoutTheAttributeHasALimitOfZero(): void
    {
        [$theirs, $ours] = self::both('/api/attribute', ['', '']);
        // From version 11 on it is an exception of Laravel's.
        $before = version_compare(LaravelApp::version(), '11', '<');

        $this->assertSame($before ? [200, 429] : [500, 500], self::statusesOf($theirs));
        $this->assertSame($before ? [429, 429] : [500, 500], self::statusesOf($ours));
    }

    public function testWhereTwoLimitsRefuseTheClientIsToldTheLongerWait(): void
    {
        [$theirs, $ours] = self::both('/api/named/minute-and-hour', ['', '']);

        $this->assertSame([200, 429], self::statusesOf($ours));
        $this->assertEqualsWithDelta(60, (int) $theirs[1]->headers['retry-after'], 1);
        $this->assertEqualsWithDelta(3600, (int) $ours[1]->headers['retry-after'], 1);
        $this->assertSame('minute', $theirs[1]->headers['x-of']);
        $this->assertSame('minute', $ours[1]->headers['x-of'], 'the answer is that of the first, as there');
    }

    public function testWhatIsLeftIsToldAsOfTheQuestion(): void
    {
        // The controller forgets the counter.
        [$theirs, $ours] = self::both('/api/named/forgets', ['', '']);

        $this->assertSame(['3', '3'], array_map(static fn ($answer) => $answer->headers['x-ratelimit-remaining'], $theirs));
        $this->assertSame(['2', '2'], array_map(static fn ($answer) => $answer->headers['x-ratelimit-remaining'], $ours));
    }

    public function testKeysAreNotCleanedTogether(): void
    {
        $code = <<<'PHP'
            use Illuminate\Support\Facades\RateLimiter;
            foreach (['a<b', 'alb', 'josé', 'jose', "\xff", "\xfe"] as $key) {
                $hits[] = RateLimiter::hit($key);
            }
            echo json_encode([$hits, RateLimiter::cleanRateLimiterKey('a<b')]);
            PHP;
        [$theirs, $ours] = self::said($code);

        $this->assertSame([[1, 2, 1, 2, 1, 2], 'alb'], $theirs);
        $this->assertSame([[1, 1, 1, 1, 1, 1], 'a<b'], $ours);
    }

    public function testNamedLimitersDoNotCleanTheirKeysEither(): void
    {
        if (version_compare(LaravelApp::version(), '10', '<')) {
            $this->expectNotToPerformAssertions();
            Checkout::of('LARAVEL_DIR', 'what came with Laravel 10');
            return;
        }
        [$theirs, $ours] = array_map(static function (bool $dropIn): array {
            $app = self::app(<<<'PHP'
                Illuminate\Routing\Middleware\ThrottleRequests::shouldHashKeys(false);
                Illuminate\Support\Facades\RateLimiter::for('raw', fn (Request $request) =>
                    Illuminate\Cache\RateLimiting\Limit::perMinute(1)->by($request->query('by')));
                Route::get('/raw', fn () => 'ok')->middleware('throttle:raw');
                PHP, ['drop_in' => $dropIn])->serve();
            return array_map(
                static fn (string $by): int => $app->get('/api/raw?by=' . urlencode($by), self::JSON)->status,
                ['a<b', 'alb', 'josé', 'jose', 'josé'],
            );
        }, [false, true]);

        $this->assertSame([200, 429, 200, 429, 429], $theirs);
        $this->assertSame([200, 200, 200, 200, 429], $ours);
    }

    public function testAnAttemptCountsWhileItsCallbackRuns(): void
    {
        $code = <<<'PHP'
            use Illuminate\Support\Facades\RateLimiter;
            $ran = [];
            RateLimiter::attempt('k', 1, function () use (&$ran) {
                $ran[] = 'first';
                RateLimiter::attempt('k', 1, function () use (&$ran) {
                    $ran[] = 'second, meanwhile';
                });
            });
            echo json_encode($ran);
            PHP;
        $this->assertSame([['first', 'second, meanwhile'], ['first']], self::said($code));
    }

    public function testForgettingACounterEndsItsWindow(): void
    {
        $code = <<<'PHP'
            use Illuminate\Support\Facades\RateLimiter;
            RateLimiter::hit('k');
            RateLimiter::resetAttempts('k');
            echo json_encode(RateLimiter::availableIn('k') > 0);
            PHP;
        $this->assertSame([true, false], self::said($code));
    }

    public function testCountersNeverFallBelowZero(): void
    {
        $code = <<<'PHP'
            use Illuminate\Support\Facades\RateLimiter;
            if (!method_exists(Illuminate\Cache\RateLimiter::class, 'increment')) {
                exit(json_encode([-2, 3]));
            }
            RateLimiter::hit('k');
            $after = RateLimiter::increment('k', 60, -3);
            echo json_encode([$after, RateLimiter::remaining('k', 1) + 0]);
            PHP;
        [$theirs] = self::said($code);
        $this->assertSame(-2, $theirs[0], 'three more than the limit may pass');

        $ours = LaravelApp::make(['SLUICE_DROP_IN' => true])->code(<<<'PHP'
            $limiter = $app->make(Illuminate\Cache\RateLimiter::class);
            $limiter->hit('k');
            echo json_encode([$limiter->decrement('k', 60, 3), $limiter->remaining('k', 1), $limiter->hit('k')]);
            PHP)->json();
        $this->assertSame([0, 1, 1], $ours);
    }

    /**
     * The answers of Laravel's own and of the drop-in.
     *
     * @param list<string> $queries
     * @return array{list<HttpResponse>, list<HttpResponse>}
     */
    private static function both(string $path, array $queries): array
    {
        $routes = (string) file_get_contents(dirname(__DIR__) . '/Fixtures/laravel-throttled-routes.php');
        return array_map(static function (bool $dropIn) use ($routes, $path, $queries): array {
            $app = LaravelApp::make(['SLUICE_DROP_IN' => $dropIn], ['routes/api.php' => $routes])->serve();
            return array_map(static fn (string $query) => $app->get($path . $query, self::JSON), $queries);
        }, [false, true]);
    }

    /**
     * What code prints with Laravel's own and with the drop-in.
     *
     * @return array{mixed, mixed}
     */
    private static function said(string $code): array
    {
        return array_map(static fn (bool $dropIn): mixed =>
            LaravelApp::make(['SLUICE_DROP_IN' => $dropIn])->code($code)->json(), [false, true]);
    }

    /**
     * @param list<HttpResponse> $answers
     * @return list<int>
     */
    private static function statusesOf(array $answers): array
    {
        return array_map(static fn (HttpResponse $answer): int => $answer->status, $answers);
    }
}
