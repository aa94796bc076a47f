<?php

declare(strict_types=1);

namespace Sluice\Think\Command;

use think\console\Output;

/** `php think sluice:reset KEY`: forgets what a key has spent, and nobody else's. */
final class Reset extends LimitCommand
{
    protected function configure(): void
    {
        $this->define('sluice:reset', 'Forget what a key has spent of its limits');
    }

    protected function answer(array $found, bool $isChosen, Output $output): void
    {
        $limiter = $this->engine()->limiter();
        $forgotten = 0;
        foreach ($found as $one) {
            // What a whole site or route has spent is not this key's to forget.
            $before = $one->isShared ? null : $limiter->peek($one->key, $one->limit);
            if ($before !== null && (!$before->allowed || $before->resetAfter > 0.0)) {
                $limiter->reset($one->key, $one->limit);
                $output->writeln("Forgotten: {$one->words()}.");
                $forgotten++;
            }
        }
        if ($forgotten === 0) {
            $output->writeln('Nothing was spent.');
        }
    }
}
