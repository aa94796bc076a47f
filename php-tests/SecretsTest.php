<?php

declare(strict_types=1);

namespace Sluice\Tests;

use Sluice\FixedWindowLimiter;
use Sluice\Store;
use Sluice\StoreException;
use Sluice\Tests\Support\TestCase;
use Sluice\TokenBucketLimiter;

/** A password goes in with a DSN and comes out nowhere. */
final class SecretsTest extends TestCase
{
    /** @dataProvider keepers */
    public function testNoWayOfPrintingAnObjectShowsThePassword(object $keeper): void
    {
        ob_start();
        var_dump($keeper, (array) $keeper, get_object_vars($keeper));
        print_r($keeper);
        var_export($keeper);
        debug_zval_dump($keeper);
        $shown = ob_get_clean() . json_encode($keeper);
        self::assertStringContainsString($keeper::class, $shown);
        self::assertStringNotContainsString('hunter2', $shown);
    }

    public static function keepers(): iterable
    {
        $dsn = 'redis://app:hunter2@127.0.0.1:1';
        yield 'a token bucket limiter' => [new TokenBucketLimiter($dsn)];
        yield 'a fixed window limiter' => [new FixedWindowLimiter($dsn)];
        yield 'a store' => [Store::redis($dsn)];
        yield 'a store with the password as an option' => [
            Store::redis('redis://127.0.0.1:1', ['user' => 'app', 'password' => 'hunter2']),
        ];
    }

    public function testTheStatusOfAStoreMasksThePassword(): void
    {
        $store = Store::redis('redis://app:hunter2@127.0.0.1:1');
        (new TokenBucketLimiter($store))->allow(self::freshKey(), 1, 1);
        $redis = $store->status()['redis'];
        self::assertSame('redis://app:***@127.0.0.1:1/0', $redis['dsn']);
        self::assertStringContainsString('redis://app:***@127.0.0.1:1/0: cannot connect', $redis['lastFault']);
        self::assertStringNotContainsString('hunter2', serialize($redis));
    }

    public function testAnExceptionOfAStoreMasksThePassword(): void
    {
        ini_set('sluice.on_failure', 'throw');
        $limiter = new TokenBucketLimiter('redis://app:hunter2@127.0.0.1:1');
        try {
            $limiter->allow('k', 1, 1);
            self::fail('nobody listens there');
        } catch (StoreException $exception) {
            self::assertStringContainsString('redis://app:***@127.0.0.1:1/0', $exception->getMessage());
            self::assertStringNotContainsString('hunter2', (string) $exception);
        }
    }
}
