<?php

declare(strict_types=1);

namespace Sluice\Laravel\Console;

use Illuminate\Console\Command;
use Sluice\Decision;
use Sluice\Http\Found;
use Sluice\Http\InWords;
use Sluice\Limiter;

/**
 * Why a key was refused: what is left of each of its limits, and until when.
 * Looks, and takes nothing.
 */
final class WhyCommand extends Command
{
    use NeedsTheExtension;

    protected $signature = 'sluice:why
        {key : As the log has it, or user:ID, ip:ADDRESS, account:FIELD=VALUE}
        {policy? : Only this policy or spec}
        {--guard= : The guard that knows the user}
        {--json : As JSON}';

    protected $description = 'Tell what is left for a key, when it passes again, and which limit says so';

    public function handle(Lookup $lookup): int
    {
        if (!$this->hasTheExtension()) {
            return self::FAILURE;
        }
        $policy = self::text($this->argument('policy'));
        $found = $lookup->find(self::text($this->argument('key')), $policy, self::text($this->option('guard')));
        $limiter = new Limiter();
        $rows = [];
        foreach ($found as $one) {
            $decision = $limiter->peek($one->key, $one->limit);
            // Of all policies only those tell something that were used.
            if ($policy !== '' || !$decision->allowed || $decision->resetAfter > 0.0) {
                $rows[] = [$one, $decision];
            }
        }
        if ($this->option('json')) {
            $this->line(json_encode(
                array_map(self::data(...), $rows),
                JSON_UNESCAPED_SLASHES | JSON_PRETTY_PRINT | JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR,
            ));
            return self::SUCCESS;
        }
        $this->warnOfMemoryOfItsOwn();
        foreach ($lookup->problems as $problem) {
            $this->line("<comment>Not looked at: {$problem}</comment>");
        }
        foreach ($rows as [$one, $decision]) {
            $this->line(self::words($one, $decision));
        }
        if ($rows === []) {
            $this->line('Nothing is spent: the next request passes every limit that was looked at.');
        }
        return self::SUCCESS;
    }

    private static function words(Found $one, Decision $decision): string
    {
        $style = match (true) {
            $decision->wouldDeny => 'comment',
            $decision->allowed => 'info',
            default => 'error',
        };
        $answer = InWords::answer($decision);
        return "{$one->words()}: the next request <{$style}>{$answer}</{$style}>. " . InWords::rest($decision);
    }

    /**
     * @param array{Found, Decision} $row
     * @return array<string, mixed>
     */
    private static function data(array $row): array
    {
        [$one, $decision] = $row;
        return ['limit_spec' => (string) $one->limit, 'route' => $one->route, 'shared' => $one->isShared]
            + $decision->toArray();
    }
}
