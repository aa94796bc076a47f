<?php

declare(strict_types=1);

namespace Sluice\Think\Event;

use Sluice\Http\Verdict;

/**
 * A request was over a limit. At most one of these a key and interval of the log.
 *
 * ```php
 * // app/event.php
 * return ['listen' => [RequestDenied::class => [app\listener\AlertOnDenial::class]]];
 * ```
 */
final class RequestDenied
{
    public function __construct(public readonly Verdict $verdict)
    {
    }
}
