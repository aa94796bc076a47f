<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

/** `Sluice::for()`: limits that code decides. */
final class PlansTest extends LaravelTestCase
{
    private const PLANS = <<<'PHP'
        \Sluice\Laravel\Sluice::for('api', function (Request $request) {
            return match (optional($request->user())->getAuthIdentifier()) {
                'internal' => \Sluice\Limit::none(),
                'blocked' => \Sluice\Limit::deny(),
                'gold' => \Sluice\Limit::slidingWindow(4, 60),
                'both' => [\Sluice\Limit::slidingWindow(3, 60), '2/h'],
                'policy' => 'thrice',
                'free' => null,
                'empty' => [],
                'own' => \Sluice\Limit::slidingWindow(1, 60)->by('all of them')->named('mine'),
                'same' => [\Sluice\Limit::tokenBucket(3, 0.01), \Sluice\Limit::tokenBucket(2, 0.01)],
                'teapot' => response('short and stout', 418),
                'wrong' => 5,
                default => \Sluice\Limit::slidingWindow(1, 60),
            };
        });
        PHP;

    public function testEachPlanHasItsLimit(): void
    {
        $app = self::app(<<<'PHP'
            Route::get('/a', fn () => 1)->middleware('sluice:api');
            Route::get('/b', fn () => 1)->middleware('sluice:api');
            PHP, ['policies' => ['thrice' => '3/m', 'api' => 'deny']], [
                'app/Providers/AppServiceProvider.php' => self::provider(self::PLANS),
            ])->serve();
        $passes = static fn (string $user, string $route = 'a'): array => self::statuses(5, $app, "/api/{$route}", self::as($user));
        $open = array_fill(0, 5, 200);
        self::assertSame($open, $passes('internal'));
        self::assertSame($open, $passes('free'));
        self::assertSame($open, $passes('empty'));
        self::assertSame([429, 429, 429, 429, 429], $passes('blocked'));
        self::assertSame([200, 200, 200, 200, 429], $passes('gold'));
        self::assertSame([200, 200, 429, 429, 429], $passes('both'));
        self::assertSame([200, 200, 200, 429, 429], $passes('policy'));
        self::assertSame([200, 200, 429, 429, 429], $passes('same'), 'two buckets with one key are two limits');
        self::assertSame([200, 429, 429, 429, 429], $passes('1'));
        self::assertSame([200, 429, 429, 429, 429], $passes('2'));
        self::assertSame([200, 429, 429, 429, 429], $passes('2', 'b'), 'by client and route unless it says by whom');
        self::assertSame([200, 429, 429, 429, 429], $passes('own'));
        self::assertSame([429, 429, 429, 429, 429], $passes('own', 'b'), 'the key that it says');
        self::assertSame([418, 418, 418, 418, 418], $passes('teapot'));
        self::assertSame(500, $app->get('/api/a', self::as('wrong'))->status);
        self::assertStringContainsString('Sluice::for(\"api\") must return limits', $app->log());
        self::assertStringContainsString('"policy":"mine"', $app->log());
    }

    public function testANameMayBeAnEnum(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:api');", [], [
            'app/Name.php' => "<?php\nnamespace App;\nenum Name: string { case Api = 'api'; }",
            'app/Providers/AppServiceProvider.php' => self::provider(
                '\Sluice\Laravel\Sluice::for(\App\Name::Api, fn () => \Sluice\Limit::slidingWindow(1, 60));',
            ),
        ])->serve();
        self::assertSame([200, 429], self::statuses(2, $app, '/api/a'));
    }
}
