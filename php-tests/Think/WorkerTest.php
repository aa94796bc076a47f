<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\ThinkApp;

/**
 * Many requests in one process, as under think-swoole: each on a clone of one
 * application, and the middleware and its engine shared by all of them.
 */
final class WorkerTest extends ThinkTestCase
{
    private const WORKER = <<<'PHP'
        use Sluice\Think\{Engine, Throttle};
        use think\{App, Container};

        $base = new App();
        $base->initialize();
        $base->make(Throttle::class);
        $base->make(Engine::class);
        $run = static function (string $path, array $get = [], array $server = [], $name = '') use ($base): array {
            $app = clone $base;
            Container::setInstance($app);
            $app->instance('app', $app);
            $app->instance(Container::class, $app);
            array_map($app->delete(...), ['http', 'middleware', 'route', 'request', 'session', 'cookie', 'response']);
            $server += ['REMOTE_ADDR' => '192.0.2.1', 'REQUEST_METHOD' => 'GET', 'HTTP_HOST' => 'localhost'];
            $request = $app->make('request', [], true)->withServer($server)->withGet($get)
                ->setUrl("/{$path}")->setBaseUrl("/{$path}")->setPathinfo($path);
            $response = $app->http->name($name)->run($request);
            return [$app, $response];
        };
        $end = static function (array $ran): int {
            [$app, $response] = $ran;
            Container::setInstance($app);
            $app->http->end($response);
            return $response->getCode();
        };

        PHP;

    public function testWhatOneRequestSetIsGoneForTheNext(): void
    {
        $answer = self::worker(<<<'PHP'
            $one = $end($run('ours', ['user' => 'a', 'plan' => 'small']));
            $two = $end($run('ours', ['user' => 'a', 'plan' => 'small']));
            $others = array_map(fn () => $end($run('ours', ['user' => 'b'])), range(1, 10));
            $spec = array_map(fn () => $end($run('spec')), range(1, 3));
            $admin = array_map(fn () => $end($run('spec', name: 'admin')), range(1, 3));
            $file = $run('by-file')[1]->getHeader('X-Rate-Limit-Limit');
            echo json_encode([$one, $two, $others, $spec, $admin, $file]);
            PHP);
        $nineOfTen = [...array_fill(0, 9, 200), 429];
        self::assertSame([200, 429, $nineOfTen, [200, 200, 429], [200, 200, 429], '100'], $answer);
    }

    public function testAPermitIsHeldToTheEndOfItsRequestAndNoLonger(): void
    {
        $answer = self::worker(<<<'PHP'
            $first = $run('slow');
            $meanwhile = $end($run('slow'));
            $end($first);
            $afterwards = array_map(fn () => $end($run('slow')), range(1, 3));
            echo json_encode([$first[1]->getCode(), $meanwhile, $afterwards]);
            PHP);
        self::assertSame([200, 429, [200, 200, 200]], $answer);
    }

    public function testRequestsThatOverlapDoNotMeet(): void
    {
        $answer = self::worker(<<<'PHP'
            $first = new Fiber(fn () => $run('pause'));
            $first->start();
            $second = $run('ours', ['user' => 'a'])[1];
            $first->resume();
            $limits = fn ($response) => $response->getHeader('X-Rate-Limit-Limit');
            echo json_encode([$limits($first->getReturn()[1]), $limits($second)]);
            PHP);
        self::assertSame(['5', '9'], $answer);
    }

    public function testNothingOfARequestIsKept(): void
    {
        $answer = self::worker(<<<'PHP'
            $known = [];
            foreach (range(1, 30) as $number) {
                $ran = $run($number % 2 === 0 ? 'ours' : 'slow', ['user' => "u{$number}"]);
                array_push($known, WeakReference::create($ran[0]), WeakReference::create($ran[0]->request));
                $number % 3 === 0 || $end($ran);
                unset($ran);
            }
            gc_collect_cycles();
            $left = count(array_filter($known, static fn (WeakReference $known): bool => $known->get() !== null));
            $engine = $base->make(Engine::class);
            $held = fn (string $name): int => count((fn () => $this->{$name})->call($engine));
            // The last application is still that of the container.
            echo json_encode([$left <= 2, $held('permits') <= 1, $held('attributed') <= 1]);
            PHP);
        self::assertSame([true, true, true], $answer);
    }

    public function testAJobGivesBackWhatItHeld(): void
    {
        $ran = ThinkApp::make()->code(<<<'PHP'
            $app = new think\App();
            $app->initialize();
            $push = static function (array $data) use ($app): void {
                try {
                    $app->make('queue')->connection('sync')->push(app\job\Hold::class, $data);
                } catch (Throwable $failure) {
                    echo get_class($failure), ' ';
                }
            };
            array_map($push, [[], ['fails' => true], []]);
            $app->make(Sluice\RateLimiter::class)->acquire('hold', '1 concurrent');
            array_map($push, [[], ['limit' => 'none'], ['limit' => 'deny'], ['limit' => 'two-an-hour']]);
            PHP);
        self::assertSame('', $ran->stderr);
        self::assertSame('ran DomainException ran put back ran RuntimeException ran ', $ran->stdout);
    }

    public function testTheSharedObjectCannotBeSet(): void
    {
        $answer = self::worker(<<<'PHP'
            $end($run('ours', ['user' => 'a']));
            try {
                $base->make(Throttle::class)->setRate('1/h');
            } catch (LogicException $mistake) {
                echo json_encode($mistake->getMessage());
            }
            PHP);
        self::assertStringContainsString('this object is shared by all requests', $answer);
    }

    private static function worker(string $code): mixed
    {
        return ThinkApp::make()->code(self::WORKER . $code)->json();
    }
}
