<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

/** `Sluice\Testing` in an application's own tests. */
final class TestingTest extends LaravelTestCase
{
    public function testTravelMovesTheLimitsAndEachTestBeginsAnew(): void
    {
        $app = self::app("Route::get('/a', fn () => 1)->middleware('sluice:1/m');", ['store' => 'redis://127.0.0.1:1'], [
            'tests/LimitTest.php' => <<<'PHP'
                <?php
                namespace Tests;
                use Illuminate\Support\Carbon;
                use Illuminate\Support\Facades\Event;
                use Sluice\Laravel\Events\RequestDenied;
                use Sluice\Laravel\Jobs\RateLimited;
                use Sluice\Testing\{FakesLimits, SluiceTest};
                final class LimitTest extends TestCase
                {
                    use FakesLimits;

                    public function testTravel(): void
                    {
                        $this->get('/api/a')->assertOk();
                        $this->get('/api/a')->assertStatus(429)->assertHeader('Retry-After', 60)
                            ->assertHeader('X-RateLimit-Reset', time() + 60);
                        $this->travel(59)->seconds();
                        $this->get('/api/a')->assertStatus(429);
                        $this->travel(1)->seconds();
                        $this->get('/api/a')->assertOk();
                        $this->travel(1)->minutes(fn () => $this->get('/api/a')->assertOk());
                    }

                    /** @dataProvider twice */
                    public function testDenialsAreSeenInEachTest(): void
                    {
                        Event::fake([RequestDenied::class]);
                        $this->get('/api/a')->assertOk();
                        $this->get('/api/a')->assertStatus(429);
                        $this->get('/api/a')->assertStatus(429);
                        Event::assertDispatchedTimes(RequestDenied::class, 1);
                        SluiceTest::advance(60);
                        $this->get('/api/a')->assertOk();
                        $this->get('/api/a')->assertStatus(429);
                        Event::assertDispatchedTimes(RequestDenied::class, 2);
                    }

                    public static function twice(): array
                    {
                        return [[], []];
                    }
                }
                PHP,
        ]);
        self::assertTestsPass(3, $app);
    }
}
