<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\Store;
use Sluice\Tests\Support\RedisServer;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** Keys are bytes, and two different keys never share a count. */
final class KeysTest extends TestCase
{
    /** Slow enough for no token to come back while a test runs. */
    private const HOURLY = 1 / 3600;

    /** @dataProvider stores */
    public function testEveryKeyHasACountOfItsOwn(callable $store): void
    {
        $limiter = new TokenBucketLimiter($store());
        foreach (self::keys() as $key) {
            // Shared memory remembers other tests.
            $limiter->reset($key);
        }
        foreach (self::keys() as $name => $key) {
            self::assertTrue($limiter->allow($key, 1, self::HOURLY), "{$name}: taken by another");
        }
        foreach (self::keys() as $name => $key) {
            self::assertFalse($limiter->allow($key, 1, self::HOURLY), "{$name}: not counted");
        }
    }

    /** @dataProvider stores */
    public function testResetFindsItsKeyAndNoOther(callable $store): void
    {
        $limiter = new TokenBucketLimiter($store());
        foreach (self::keys() as $key) {
            $limiter->allow($key, 1, self::HOURLY);
        }
        foreach (self::keys() as $name => $key) {
            self::assertFalse($limiter->allow($key, 1, self::HOURLY), "{$name}: reset by another");
            $limiter->reset($key);
            self::assertTrue($limiter->allow($key, 1, self::HOURLY), "{$name}: not reset");
        }
    }

    /** @dataProvider stores */
    public function testADecisionGivesItsKeyBackByteForByte(callable $store): void
    {
        $limiter = new TokenBucketLimiter($store());
        foreach (self::keys() as $name => $key) {
            self::assertSame($key, $limiter->attempt($key, 1, 1)->key, $name);
        }
    }

    public static function stores(): iterable
    {
        yield 'shared memory' => [Store::sharedMemory(...)];
        yield 'Redis' => [fn () => Store::redis(RedisServer::start()->dsn())];
        yield 'shared memory in Redis\' place' => [fn () => Store::redis(RedisServer::absent()->dsn())];
        yield 'memory' => [Store::memory(...)];
    }

    /** @return array<string, string> */
    private static function keys(): array
    {
        $almost64KiB = str_repeat('k', 65_535);
        return [
            'empty' => '',
            'a NUL' => "\0",
            'two NULs' => "\0\0",
            'a text' => 'alice',
            'in another case' => 'Alice',
            'with a NUL behind it' => "alice\0",
            'with a NUL and more' => "alice\0more",
            'with a NUL and other' => "alice\0other",
            'with a line break' => "alice\r\n",
            'with a space' => 'alice ',
            'no UTF-8' => "\xff\xfe\x80",
            'other bytes' => "\xff\xfe\x81",
            'UTF-8' => 'ключ',
            'composed' => "\u{e9}",
            'decomposed' => "e\u{301}",
            'braces' => '{tag}',
            'what is in the braces' => 'tag',
            'more behind the braces' => '{tag}alice',
            'braces the wrong way round' => '}tag{',
            'a brace alone' => '{',
            'empty braces' => '{}',
            'like the marker of a plain key' => ':=alice',
            'like the marker of a hashed key' => ':#' . hash('sha256', "{$almost64KiB}a"),
            '200 bytes' => str_repeat('k', 200),
            '201 bytes' => str_repeat('k', 201),
            '64 KiB' => "{$almost64KiB}a",
            '64 KiB with another last byte' => "{$almost64KiB}b",
        ];
    }
}
