<?php

declare(strict_types=1);

namespace Sluice\Tests\Laravel;

/** The job middleware: released with the exact delay, permits for the time of a job. */
final class JobsTest extends LaravelTestCase
{
    private const JOB = <<<'PHP'
        use Illuminate\Queue\InteractsWithQueue;
        use Illuminate\Support\Facades\Bus;
        use Sluice\Laravel\Jobs\RateLimited;
        use Sluice\{Limit, Limiter, Store};

        class Sms
        {
            public array $released = [];
            public int $ran = 0;
            public function __construct(public string $phone = '1') {}
            public function release($delay = 0) { $this->released[] = $delay; }
        }
        class Mail extends Sms {}
        function through(object $job, RateLimited ...$middleware): object
        {
            $pipeline = new Illuminate\Pipeline\Pipeline(app());
            $pipeline->send($job)->through($middleware)->then(function ($job) { $job->ran++; });
            return $job;
        }
        $store = Store::fake();

        PHP;

    public function testReleasesForAsLongAsItHasToWaitInWholeSeconds(): void
    {
        $app = self::app('', ['policies' => ['sms' => ['limit' => '1 per 10 seconds', 'by' => 'account:phone']]]);
        $result = $app->code(self::JOB . <<<'PHP'
            $first = through(new Sms('1'), new RateLimited('sms'));
            $store->advance(2.5);
            $second = through(new Sms('1'), new RateLimited('sms'));
            $other = through(new Sms('2'), new RateLimited('sms'));
            $store->advance(7.0);
            $soon = through(new Sms('1'), new RateLimited('sms'));
            $store->advance(0.5);
            $then = through(new Sms('1'), new RateLimited('sms'));
            $dropped = through(new Sms('1'), (new RateLimited('sms'))->dontRelease());
            echo json_encode(array_map(fn ($job) => [$job->ran, $job->released],
                [$first, $second, $other, $soon, $then, $dropped]));
            PHP);
        self::assertSame(
            [[1, []], [0, [8]], [1, []], [0, [1]], [1, []], [0, []]],
            $result->json(),
        );
    }

    public function testAPropertyNeedNotBePublic(): void
    {
        $app = self::app('', ['policies' => ['sms' => ['limit' => '1/m', 'by' => 'account:number']]]);
        $result = $app->code(self::JOB . <<<'PHP'
            class Call extends Sms { public function __construct(private string $number) {} }
            $jobs = array_map(fn ($number) => through(new Call($number), new RateLimited('sms')), ['1', '1', '2']);
            echo json_encode(array_column($jobs, 'ran'));
            PHP);
        self::assertSame([1, 0, 1], $result->json());
    }

    public function testGoesByTheJobsClassUnlessItIsToldByWhom(): void
    {
        $app = self::app('', [], ['app/Providers/AppServiceProvider.php' => self::provider(
            '\Sluice\Laravel\Sluice::for("code", fn (object $job) => \Sluice\Limit::slidingWindow((int) $job->phone, 60));',
        )]);
        $result = $app->code(self::JOB . <<<'PHP'
            $jobs = [
                through(new Sms(), new RateLimited('1/m')),
                through(new Sms(), new RateLimited('1/m')),
                through(new Mail(), new RateLimited('1/m')),
                through(new Sms(), (new RateLimited('1/m'))->by('mine')),
                through(new Mail(), unserialize(serialize((new RateLimited('1/m'))->by('mine')))),
                through(new Sms('2'), new RateLimited('code')),
                through(new Sms('2'), new RateLimited('code')),
                through(new Sms('2'), new RateLimited('code')),
                through(new Sms(), new RateLimited('none')),
                through(new Sms(), new RateLimited('deny')),
                through(new Mail(), new RateLimited('9/h', '1 per 90 seconds')),
                through(new Mail(), new RateLimited('9/h', '1 per 90 seconds')),
                $store->advance(90) ?? through(new Mail(), new RateLimited('9/h', '1 per 90 seconds')),
            ];
            // Of the nine two are spent: what was refused was not charged to the other limit.
            $nine = through(new Mail(), ...array_fill(0, 7, new RateLimited('9/h')));
            echo json_encode(array_map(fn ($job) => $job->released === [] ? $job->ran : $job->released[0], [...$jobs, $nine]));
            PHP);
        self::assertSame([1, 60, 1, 1, 60, 1, 1, 60, 1, 60, 1, 90, 1, 1], $result->json());
    }

    public function testAPermitIsHeldForTheTimeOfTheJobWhateverEndsIt(): void
    {
        $app = self::app('');
        $result = $app->code(self::JOB . <<<'PHP'
            $left = fn () => (new Limiter())->peek('db', '2 concurrent')->remaining;
            $seen = [$left()];
            for ($job = 0; $job < 5; $job++) {
                (new RateLimited('2 concurrent'))->by('db')->handle(new Sms(), function () use (&$seen, $left) { $seen[] = $left(); });
            }
            $seen[] = $left();
            try {
                (new RateLimited('2 concurrent'))->by('db')->handle(new Sms(), fn () => throw new LogicException('failed'));
            } catch (LogicException) {
                $seen[] = $left();
            }
            echo json_encode($seen);
            PHP);
        self::assertSame([2, 1, 1, 1, 1, 1, 2, 2], $result->json());
    }

    /** A worker of the queue, with jobs that stay in it. */
    public function testInARealWorkerTheJobComesBackWhenItsTimeHasCome(): void
    {
        $app = self::app('', ['policies' => ['mail' => '1/m']], [
            'app/Jobs/SendMail.php' => <<<'PHP'
                <?php
                namespace App\Jobs;
                final class SendMail implements \Illuminate\Contracts\Queue\ShouldQueue
                {
                    use \Illuminate\Bus\Queueable, \Illuminate\Queue\InteractsWithQueue, \Illuminate\Foundation\Bus\Dispatchable;
                    public $tries = 5;
                    public function __construct(private string $to) {}
                    public function middleware(): array { return [new \Sluice\Laravel\Jobs\RateLimited('mail')]; }
                    public function handle(): void { file_put_contents(storage_path('sent'), "{$this->to}\n", FILE_APPEND); }
                }
                PHP,
            'config/queue.php' => "<?php return ['default' => 'redis', 'failed' => ['driver' => 'null'], 'connections' => ['redis' => "
                . "['driver' => 'redis', 'connection' => 'default', 'queue' => 'default', 'retry_after' => 90, 'block_for' => null]]];",
        ], ['REDIS_HOST' => '127.0.0.1', 'REDIS_PORT' => ($redis = \Sluice\Tests\Support\RedisServer::startOnPort())->port()]);
        $result = $app->code(<<<'PHP'
            Sluice\Store::fake();
            App\Jobs\SendMail::dispatch('ann');
            App\Jobs\SendMail::dispatch('bob');
            $before = time();
            app('queue.worker')->runNextJob('redis', 'default', new Illuminate\Queue\WorkerOptions());
            app('queue.worker')->runNextJob('redis', 'default', new Illuminate\Queue\WorkerOptions());
            $due = app('redis')->zrange('queues:default:delayed', 0, -1, ['withscores' => true]);
            echo json_encode([file(storage_path('sent')), count($due), (int) round(end($due)) - $before]);
            PHP)->json();
        self::assertSame(["ann\n"], $result[0]);
        self::assertSame(1, $result[1]);
        self::assertContains($result[2], [60, 61]);
    }
}
