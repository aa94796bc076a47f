<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Decision;
use Sluice\FixedWindowLimiter;
use Sluice\Limit;
use Sluice\Limiter;
use Sluice\Permit;
use Sluice\Store;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** What cannot be done with the objects, and that PHP says so. */
final class ObjectsTest extends TestCase
{
    /** @dataProvider objects */
    public function testCannotBeCloned(object $object): void
    {
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('Trying to clone an uncloneable object of class ' . $object::class);
        clone $object;
    }

    /** @dataProvider objects */
    public function testCannotBeSerialized(object $object): void
    {
        $this->expectExceptionMessage("Serialization of '" . $object::class . "' is not allowed");
        serialize($object);
    }

    /** @dataProvider objects */
    public function testCannotBeUnserialized(object $object): void
    {
        $class = $object::class;
        $this->expectExceptionMessage("Unserialization of '{$class}' is not allowed");
        unserialize(sprintf('O:%d:"%s":0:{}', strlen($class), $class));
    }

    /** @dataProvider objects */
    public function testCannotBeMadeWithoutItsConstructor(object $object): void
    {
        $this->expectException(\ReflectionException::class);
        (new \ReflectionClass($object))->newInstanceWithoutConstructor();
    }

    /** @dataProvider objects */
    public function testHasNoPropertiesButItsOwn(object $object): void
    {
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('Cannot create dynamic property ' . $object::class . '::$more');
        $object->more = true;
    }

    /** @dataProvider objects */
    public function testNoClassCanExtendIt(object $object): void
    {
        self::assertTrue((new \ReflectionClass($object))->isFinal());
    }

    /** @dataProvider objects */
    public function testCanBeAskedAgainAfterAFailedConstructor(object $object): void
    {
        try {
            $object->__construct('no DSN');
        } catch (\Throwable) {
            // A Store's and a Decision's cannot be called at all.
        }
        match (true) {
            $object instanceof Decision => self::assertTrue($object->allowed),
            $object instanceof Store => self::assertIsArray($object->status()),
            $object instanceof Limit => self::assertTrue((new Limiter(Store::memory()))->allow('k', $object)),
            $object instanceof Permit => self::assertSame('k', $object->key),
            $object instanceof Limiter => self::assertSame(4, $object->attempt(self::freshKey(), '5/m')->remaining),
            default => self::assertSame(4, $object->attempt(self::freshKey(), 5, 1)->remaining),
        };
    }

    public static function objects(): iterable
    {
        yield 'a decision' => [(new TokenBucketLimiter(Store::memory()))->attempt('k', 5, 1)];
        yield 'a token bucket limiter' => [new TokenBucketLimiter()];
        yield 'a fixed window limiter' => [new FixedWindowLimiter()];
        yield 'a store' => [Store::sharedMemory()];
        yield 'a limiter' => [new Limiter()];
        yield 'a limit' => [Limit::slidingWindow(5, 60)];
        yield 'a permit' => [(new Limiter(Store::memory()))->acquire('k', Limit::concurrency(1))];
    }

    /** @dataProvider propertiesOfADecision */
    public function testAPropertyOfADecisionCannotBeChanged(string $property): void
    {
        $decision = (new TokenBucketLimiter(Store::memory()))->attempt('k', 5, 1);
        $this->expectException(\Error::class);
        $this->expectExceptionMessage("Cannot modify readonly property Sluice\\Decision::\${$property}");
        $decision->{$property} = $decision->{$property};
    }

    /** @dataProvider propertiesOfADecision */
    public function testAPropertyOfADecisionCannotBeUnset(string $property): void
    {
        $decision = (new TokenBucketLimiter(Store::memory()))->attempt('k', 5, 1);
        $this->expectException(\Error::class);
        $this->expectExceptionMessage("Cannot unset readonly property Sluice\\Decision::\${$property}");
        unset($decision->{$property});
    }

    public static function propertiesOfADecision(): iterable
    {
        foreach ((new \ReflectionClass(Decision::class))->getProperties() as $property) {
            yield $property->getName() => [$property->getName()];
        }
    }

    public function testADecisionCannotBeMadeByHand(): void
    {
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('private Sluice\Decision::__construct()');
        new Decision();
    }

    public function testALimitCannotBeMadeByHand(): void
    {
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('private Sluice\Limit::__construct()');
        new Limit();
    }

    public function testAPermitCannotBeMadeByHand(): void
    {
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('private Sluice\Permit::__construct()');
        new Permit();
    }

    public function testAStoreCannotBeMadeByHand(): void
    {
        $this->expectException(\Error::class);
        $this->expectExceptionMessage('private Sluice\Store::__construct()');
        new Store();
    }
}
