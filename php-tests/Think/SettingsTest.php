<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use InvalidArgumentException;
use Sluice\Tests\Support\TestCase;
use Sluice\Think\Compat\Throttle;
use Sluice\Think\Settings;

/** What a config/throttle.php and the parameters at a route come to. */
final class SettingsTest extends TestCase
{
    public function testTheRouteWinsOverTheFileAndTheFileOverTheDefaults(): void
    {
        $settings = self::settings(['visit_rate' => '100/m', 'prefix' => 'shop_'], ['visit_rate' => '10/m']);
        self::assertSame(10, $settings->rate()?->requests);
        self::assertSame('shop_', $settings->text('prefix'));
        self::assertSame(429, $settings->failCode());
        self::assertTrue($settings->showsHeaders());
        self::assertTrue($settings->get('key'));
    }

    public function testNothingIsLimitedWithoutARate(): void
    {
        self::assertNull(self::settings()->rate());
        self::assertNull(self::settings(['visit_rate' => ''])->rate());
        self::assertNull(self::settings(['visit_rate' => null])->rate(), 'as think-throttle 1 and 2 say it');
        self::assertNull(self::settings(['visit_rate' => '100/m'], ['visit_rate' => ''])->rate());
    }

    public function testAPolicyAtTheRouteTakesThePlaceOfTheFilesRate(): void
    {
        $settings = self::settings(['visit_rate' => '100/m'], ['policy' => 'login']);
        self::assertNull($settings->rate());
        self::assertSame(['login'], $settings->policies());
        $both = self::settings(['visit_rate' => '100/m'], ['policy' => ['login', 'api'], 'visit_rate' => '10/m']);
        self::assertSame(10, $both->rate()?->requests);
        self::assertSame(['login', 'api'], $both->policies());
    }

    public function testAllMethodsCountUnlessSomeAreListed(): void
    {
        self::assertTrue(self::settings()->counts('POST'), 'theirs lets POST through where nobody said so');
        $listed = self::settings(['visit_method' => ['GET', 'head']]);
        self::assertTrue($listed->counts('GET'));
        self::assertTrue($listed->counts('HEAD'));
        self::assertFalse($listed->counts('POST'));
        self::assertTrue($listed->counts('POST', 'GET'), 'sent as the one, routed as the other');
    }

    public function testARateOfTheFileAndOneOfARouteAreTwoLimits(): void
    {
        self::assertSame('throttle', self::settings(['visit_rate' => '100/m'])->limitName());
        self::assertSame('throttle', self::settings(['visit_rate' => '100/m'], ['key' => true])->limitName());
        self::assertSame('throttle.route', self::settings([], ['visit_rate' => '1/m'])->limitName());
    }

    public function testWhatAClosureSetsIsForThisRequest(): void
    {
        $settings = self::settings(['visit_rate' => '100/m']);
        $settings->set('visit_rate', '5/m');
        self::assertSame(5, $settings->rate()?->requests);
        self::assertSame('throttle', $settings->limitName());
    }

    public function testAWordThatMeansNothingIsFound(): void
    {
        self::assertSame(['vist_rate'], self::settings([], ['vist_rate' => '1/m', 'key' => true])->unknown());
        self::assertSame([], self::settings(['whatever' => 1])->unknown());
    }

    /** @dataProvider mistakes */
    public function testAMistakeNamesTheEntryAndTheFile(array $file, array $route, callable $read, string $message): void
    {
        $this->expectException(InvalidArgumentException::class);
        $this->expectExceptionMessage($message);
        $read(self::settings($file, $route));
    }

    /** @return iterable<array{array<string, mixed>, array<string, mixed>, callable, string}> */
    public static function mistakes(): iterable
    {
        $rate = static fn (Settings $settings) => $settings->rate();
        yield [['visit_rate' => 10], [], $rate, 'in config/throttle.php must be a text such as "10/m", not int'];
        yield [[], ['visit_rate' => []], $rate, '"visit_rate" in the parameters of the middleware'];
        yield [[], ['policy' => [1]], static fn (Settings $all) => $all->policies(), '"policy" in the parameters'];
        yield [['visit_method' => 'GET'], [], static fn (Settings $all) => $all->counts('GET'), '"visit_method"'];
        yield [['visit_fail_code' => '429'], [], static fn (Settings $all) => $all->failCode(), '"visit_fail_code"'];
        yield [['prefix' => null], [], static fn (Settings $all) => $all->text('prefix'), '"prefix" in config'];
    }

    /**
     * @param array<string, mixed> $file
     * @param array<string, mixed> $route
     */
    private static function settings(array $file = [], array $route = []): Settings
    {
        // Theirs, with what ours does not take over.
        return new Settings(Throttle::$default_config + ['visit_method' => ['GET', 'HEAD']], $file, $route);
    }
}
