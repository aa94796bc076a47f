<?php

declare(strict_types=1);

namespace Sluice\Laravel\Console;

use Illuminate\Console\Command;
use Sluice\Limiter;

/**
 * Forgets what a key has spent, and nobody else's.
 */
final class ResetCommand extends Command
{
    use NeedsTheExtension;

    protected $signature = 'sluice:reset
        {key : As the log has it, or user:ID, ip:ADDRESS, account:FIELD=VALUE}
        {policy? : Only this policy or spec}
        {--guard= : The guard that knows the user}';

    protected $description = 'Forget what a key has spent of its limits';

    public function handle(Lookup $lookup): int
    {
        if (!$this->hasTheExtension()) {
            return self::FAILURE;
        }
        $this->warnOfMemoryOfItsOwn();
        $limiter = new Limiter();
        $forgotten = 0;
        $all = $lookup->find(
            self::text($this->argument('key')),
            self::text($this->argument('policy')),
            self::text($this->option('guard')),
        );
        foreach ($all as $one) {
            // What a whole site or route has spent is not this key's to forget.
            $before = $one->isShared ? null : $limiter->peek($one->key, $one->limit);
            if ($before !== null && (!$before->allowed || $before->resetAfter > 0.0)) {
                $limiter->reset($one->key, $one->limit);
                $this->line("Forgotten: {$one->words()}.");
                $forgotten++;
            }
        }
        foreach ($lookup->problems as $problem) {
            $this->line("<comment>Not looked at: {$problem}</comment>");
        }
        if ($forgotten === 0) {
            $this->line('Nothing was spent.');
        }
        $near = (string) ini_get('sluice.near');
        if ($forgotten > 0 && ini_get('sluice.store') !== '' && (float) $near > 0.0) {
            $this->line("A host that has just refused it may go on for {$near}: see sluice.near.");
        }
        return self::SUCCESS;
    }
}
