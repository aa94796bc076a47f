<?php

declare(strict_types=1);

namespace Sluice\Guzzle;

use Sluice\Failure;
use Sluice\Limit;
use ValueError;

/**
 * What is kept towards one host: its limits, and the paces to hold back by.
 */
final class Partner
{
    /** @var list<array{limit: Limit, pace: ?Pace, cost: int}> */
    public readonly array $terms;

    /**
     * @param list<string|Limit> $limits
     * @throws ValueError for what is no limit
     */
    public function __construct(string $host, array $limits, Failure $onFailure)
    {
        $terms = [];
        foreach ($limits as $number => $limit) {
            $limit = is_string($limit) ? self::parse($host, $limit) : $limit;
            // Named, so that two limits of one kind are counted apart.
            $limit = $limit->named("outbound.{$number}")->onFailure($onFailure);
            $terms[] = ['limit' => $limit, 'pace' => Pace::of($limit), 'cost' => 1];
        }
        if (array_filter(array_column($terms, 'pace')) === []) {
            // Nothing here can be held back. This can: it lets everything pass
            // that asks for nothing, unless it is in debt.
            $away = Limit::tokenBucket(1, 1)->named('outbound.away')->onFailure($onFailure);
            $terms[] = ['limit' => $away, 'pace' => Pace::of($away), 'cost' => 0];
        }
        $this->terms = $terms;
    }

    private static function parse(string $host, string $text): Limit
    {
        try {
            return $text !== '' && ctype_digit($text[0]) ? Limit::parse($text) : Limit::policy($text);
        } catch (ValueError $error) {
            throw new ValueError("the limit for \"{$host}\": {$error->getMessage()}", previous: $error);
        }
    }
}
