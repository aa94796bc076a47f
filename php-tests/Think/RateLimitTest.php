<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use ReflectionMethod;
use Sluice\Tests\Support\PhpProcess;
use Sluice\Tests\Support\TestCase;
use Sluice\Think\RateLimit;

/** The attribute, and the names of think-throttle that stand for ours. */
final class RateLimitTest extends TestCase
{
    #[RateLimit('1/d', key: RateLimit::SESSION, message: 'One a day')]
    #[RateLimit(rate: '100/d', key: 'coupon', driver: 'app\MyDriver')]
    #[RateLimit(policy: 'expensive')]
    public function testItTakesWhatTheirsTakesAndAPolicy(): void
    {
        $read = array_map(
            static fn ($attribute): array => get_object_vars($attribute->newInstance()),
            (new ReflectionMethod(__METHOD__))->getAttributes(RateLimit::class),
        );
        $fixed = 'think\middleware\throttle\CounterFixed';
        $text = 'Too Many Requests';
        self::assertSame([
            ['rate' => '1/d', 'key' => '__SESSION__', 'driver' => $fixed, 'message' => 'One a day', 'policy' => ''],
            ['rate' => '100/d', 'key' => 'coupon', 'driver' => 'app\MyDriver', 'message' => $text, 'policy' => ''],
            ['rate' => '', 'key' => true, 'driver' => $fixed, 'message' => $text, 'policy' => 'expensive'],
        ], $read);
    }

    public function testTheirNamesAreOursWhereTheyHaveNoClass(): void
    {
        $answer = self::inAnApplication(<<<'PHP'
            echo json_encode([
                think\middleware\Throttle::WAIT,
                think\middleware\Throttle::$default_config['driver_name'],
                get_class(new think\middleware\annotation\RateLimit('1/m')),
                think\middleware\annotation\RateLimit::SESSION,
                (new ReflectionClass('think\middleware\throttle\ThrottleAbstract'))->getName(),
                class_exists('think\middleware\throttle\CounterFixed'),
            ]);
            PHP);
        self::assertSame([
            '__WAIT__',
            'think\middleware\throttle\CounterFixed',
            RateLimit::class,
            '__SESSION__',
            'Sluice\Think\Compat\ThrottleAbstract',
            false,
        ], $answer);
    }

    public function testTheirsAreTakenWhereTheyAre(): void
    {
        $answer = self::inAnApplication(<<<'PHP'
            spl_autoload_register(static function (string $class): void {
                if ($class === 'think\middleware\Throttle') {
                    eval('namespace think\middleware; class Throttle { const WAIT = "theirs"; }');
                }
            }, true, true);
            echo json_encode(think\middleware\Throttle::WAIT);
            PHP);
        self::assertSame('theirs', $answer);
    }

    /** @return mixed what the code printed, from JSON */
    private static function inAnApplication(string $code): mixed
    {
        $src = var_export(dirname(__DIR__, 2) . '/php/src', true);
        // As Composer does it: its autoloader stands first, whatever is registered later.
        return PhpProcess::with()->code(<<<PHP
            require {$src} . '/Think/aliases.php';
            spl_autoload_register(static function (string \$class): void {
                \$path = {$src} . '/' . strtr(substr(\$class, strlen('Sluice\\\\')), '\\\\', '/') . '.php';
                if (str_starts_with(\$class, 'Sluice\\\\') && is_file(\$path)) {
                    require \$path;
                }
            }, true, true);
            {$code}
            PHP)->json();
    }
}
