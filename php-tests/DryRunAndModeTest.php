<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Failure;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Period;
use Sluice\Source;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;

/** Every kind of limit can be tried out, watched, turned off, and scaled. */
final class DryRunAndModeTest extends TestCase
{
    private Limiter $limiter;

    protected function setUp(): void
    {
        Store::fake(1_700_000_000.0);
        $this->limiter = new Limiter();
    }

    /** @dataProvider kinds */
    public function testADryRunCountsAndLetsEverythingThrough(Limit $limit): void
    {
        $limit = $limit->dryRun();
        $decisions = array_map(fn () => $this->limiter->attempt('k', $limit), range(1, 4));
        self::assertSame([true, true, true, true], array_column($decisions, 'allowed'));
        self::assertSame([false, false, true, true], array_column($decisions, 'wouldDeny'));
        self::assertSame([1, 0, 0, 0], array_column($decisions, 'remaining'));
        self::assertSame([0.0, []], [
            $decisions[3]->retryAfter,
            array_intersect_key($decisions[3]->headers(), ['Retry-After' => '']),
        ]);
        self::assertTrue($this->limiter->allow('k', $limit));
        self::assertFalse($this->limiter->allow('k', $limit->dryRun(false)));
    }

    /** @dataProvider kinds */
    public function testWhatADryRunLetThroughCannotBeGivenBack(Limit $limit): void
    {
        foreach (range(1, 2) as $_) {
            $this->limiter->allow('k', $limit);
        }
        $this->limiter->refund($this->limiter->attempt('k', $limit->dryRun()));
        self::assertSame(0, $this->limiter->peek('k', $limit)->remaining);
    }

    /** @dataProvider kinds */
    public function testObservingDoesTheSameForAll(Limit $limit): void
    {
        ini_set('sluice.mode', 'observe');
        $decisions = array_map(fn () => $this->limiter->attempt('k', $limit), range(1, 3));
        self::assertSame([true, true, true], array_column($decisions, 'allowed'));
        self::assertSame([false, false, true], array_column($decisions, 'wouldDeny'));
        ini_set('sluice.mode', 'enforce');
        self::assertFalse($this->limiter->allow('k', $limit));
    }

    /** @dataProvider kinds */
    public function testOffLetsThroughAndCountsNothing(Limit $limit): void
    {
        ini_set('sluice.mode', 'off');
        foreach (range(1, 3) as $_) {
            $decision = $this->limiter->attempt('k', $limit);
            self::assertSame([true, 2, false], [$decision->allowed, $decision->remaining, $decision->wouldDeny]);
            $this->limiter->refund($decision);
        }
        self::assertTrue($this->limiter->attemptAll($limit->by('k'), Limit::deny()->by('k'))->allowed);
        ini_set('sluice.mode', 'enforce');
        self::assertSame(2, $this->limiter->peek('k', $limit)->remaining);
    }

    /** @dataProvider kinds */
    public function testScaleMultipliesTheLimit(Limit $limit): void
    {
        ini_set('sluice.scale', '0.5');
        self::assertSame(1, $this->limiter->peek('k', $limit)->limit);
        ini_set('sluice.scale', '10');
        self::assertSame(20, $this->limiter->peek('k', $limit)->limit);
        ini_set('sluice.scale', '0.000001');
        self::assertTrue($this->limiter->allow('k', $limit));
        self::assertFalse($this->limiter->allow('k', $limit));
    }

    public static function kinds(): iterable
    {
        yield 'token bucket' => [Limit::tokenBucket(2, 1)];
        yield 'leaky bucket' => [Limit::leakyBucket(2, 1)];
        yield 'fixed window' => [Limit::fixedWindow(2, 60)];
        yield 'sliding window' => [Limit::slidingWindow(2, 60)];
        yield 'quota' => [Limit::quota(2, Period::Day, 'UTC')];
        yield 'concurrency' => [Limit::concurrency(2)];
    }

    public function testScaleLeavesNoneAndDenyAsTheyAre(): void
    {
        ini_set('sluice.scale', '0.5');
        self::assertSame(PHP_INT_MAX, $this->limiter->peek('k', Limit::none())->limit);
        ini_set('sluice.scale', '1000');
        self::assertFalse($this->limiter->allow('k', Limit::deny()));
    }

    public function testObservingLetsAllOfSeveralCount(): void
    {
        ini_set('sluice.mode', 'observe');
        $limits = [Limit::slidingWindow(1, 60)->by('k'), Limit::slidingWindow(5, 120)->by('k')];
        $this->limiter->attemptAll(...$limits);
        $decision = $this->limiter->attemptAll(...$limits);
        self::assertSame([true, true], [$decision->allowed, $decision->wouldDeny]);
        self::assertSame(3, $this->limiter->peek('k', $limits[1])->remaining);
    }

    public function testUnderADryRunSomethingIsRunWithoutAPermit(): void
    {
        $limit = Limit::concurrency(1)->dryRun();
        $held = $this->limiter->acquire('k', $limit);
        $free = $this->limiter->acquire('k', $limit);
        self::assertSame(['k', 'ran'], [$free->key, $this->limiter->run('k', $limit, fn () => 'ran')]);
        $free->release();
        self::assertSame(0, $this->limiter->peek('k', Limit::concurrency(1))->remaining);
        $held->release();
        self::assertSame(1, $this->limiter->peek('k', Limit::concurrency(1))->remaining);
    }

    /** A permit taken under one scale is given back under another. */
    public function testAChangedScaleLosesNoPermit(): void
    {
        $permit = $this->limiter->acquire('k', '2 concurrent');
        ini_set('sluice.scale', '0.5');
        self::assertNull($this->limiter->acquire('k', '2 concurrent'));
        $permit->release();
        self::assertNotNull($this->limiter->acquire('k', '2 concurrent'));
    }

    /** @dataProvider failures */
    public function testALimitHasItsOwnAnswerWhenRedisIsDown(Failure $failure, bool $allowed, Source $source): void
    {
        $limiter = new Limiter('redis://127.0.0.1:1');
        ini_set('sluice.on_failure', $failure === Failure::Deny ? 'allow' : 'deny');
        foreach ([Limit::slidingWindow(5, 60), Limit::concurrency(5)] as $limit) {
            $decision = $limiter->attempt(self::freshKey(), $limit->onFailure($failure));
            self::assertSame([$allowed, $source], [$decision->allowed, $decision->source]);
        }
    }

    public static function failures(): iterable
    {
        yield 'local' => [Failure::Local, true, Source::Fallback];
        yield 'allow' => [Failure::Allow, true, Source::FailedOpen];
        yield 'deny' => [Failure::Deny, false, Source::FailedClosed];
    }

    public function testOfSeveralTheStrictestAnswersForAll(): void
    {
        $limiter = new Limiter('redis://127.0.0.1:1');
        $limit = Limit::slidingWindow(5, 60)->by(self::freshKey());
        $with = fn (Failure ...$failures) => $limiter->attemptAll(
            ...array_map(fn (Failure $failure) => $limit->named($failure->value)->onFailure($failure), $failures),
        );
        self::assertFalse($with(Failure::Allow, Failure::Local, Failure::Deny)->allowed);
        self::assertTrue($with(Failure::Allow, Failure::Local)->allowed);
        self::assertSame(Source::Fallback, $with(Failure::Allow, Failure::Local)->source);
        $this->expectException(\Sluice\StoreException::class);
        $with(Failure::Deny, Failure::Throw);
    }

    public function testOnlyAShareIsGivenOutWhenRedisIsDown(): void
    {
        $limiter = new Limiter('redis://127.0.0.1:1');
        $limit = Limit::slidingWindow(10, 60)->onFailure(Failure::Local, share: 0.2);
        self::assertSame(2, $limiter->attempt(self::freshKey(), $limit)->limit);
    }
}
