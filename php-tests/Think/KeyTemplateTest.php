<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\TestCase;
use Sluice\Think\KeyTemplate;

/** Keys with places in them. */
final class KeyTemplateTest extends TestCase
{
    public function testPlacesAreFilledIn(): void
    {
        self::assertSame('0:,4:shop,1:/,4:item,1:/,9:192.0.2.1,0:', self::fill('__CONTROLLER__/__ACTION__/__IP__'));
        self::assertSame('7:user/42', self::fill('user/42'));
        self::assertSame('9:__OTHER__', self::fill('__OTHER__'));
        self::assertSame('0:,3:abc,0:', self::fill('__SESSION__'));
    }

    public function testNobodyRunsIntoHisNeighbour(): void
    {
        $template = '__CONTROLLER____ACTION__';
        self::assertNotSame(
            self::fill($template, ['__CONTROLLER__' => 'ab', '__ACTION__' => 'c']),
            self::fill($template, ['__CONTROLLER__' => 'a', '__ACTION__' => 'bc']),
        );
        self::assertNotSame(self::fill('a/__IP__', ['__IP__' => 'b/c']), self::fill('a/b/__IP__', ['__IP__' => 'c']));
        self::assertNotSame(self::fill('__IP__'), self::fill('192.0.2.1'), 'an address that a client wrote itself');
        self::assertNotSame(self::fill('a<b'), self::fill('alb'));
        self::assertNotSame(self::fill('josé'), self::fill('jose'));
    }

    public function testWhatComesInIsNotLookedAtAgain(): void
    {
        self::assertSame('0:,6:__IP__,0:', self::fill('__ACTION__', ['__ACTION__' => '__IP__']));
    }

    /** @param array<string, string> $values */
    private static function fill(string $template, array $values = []): string
    {
        $values += [
            '__CONTROLLER__' => 'shop', '__ACTION__' => 'item', '__IP__' => '192.0.2.1', '__SESSION__' => 'abc',
        ];
        return KeyTemplate::fill($template, static fn (string $place): string => $values[$place]);
    }
}
