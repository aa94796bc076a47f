<?php

declare(strict_types=1);

namespace Sluice\Tests\Think;

use Sluice\Tests\Support\HttpResponse;
use Sluice\Tests\Support\TestCase;
use Sluice\Tests\Support\ThinkApp;

/** Tests on a real ThinkPHP: each runs where THINKPHP_DIR names one. */
abstract class ThinkTestCase extends TestCase
{
    /** Runs the test itself, or says that it was not run. */
    protected function runTest(): mixed
    {
        if (!ThinkApp::isThere()) {
            $this->expectNotToPerformAssertions();
            return null;
        }
        return parent::runTest();
    }

    /** A config file of these entries. @param array<string, mixed> $entries */
    protected static function config(array $entries): string
    {
        return '<?php return ' . var_export($entries, true) . ';';
    }

    /** @param callable(): HttpResponse $ask @return list<int> the statuses of so many requests */
    protected static function statuses(int $times, callable $ask): array
    {
        return array_map(static fn (): int => $ask()->status, range(1, $times));
    }
}
