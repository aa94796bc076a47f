<?php

declare(strict_types=1);

namespace Sluice\Think\Command;

use Sluice\Http\InWords;
use think\console\Output;

/** `php think sluice:why KEY`: what is left of each limit of a key. Looks, and takes nothing. */
final class Why extends LimitCommand
{
    protected function configure(): void
    {
        $this->define('sluice:why', 'Tell what is left for a key, when it passes again, and which limit says so');
    }

    protected function answer(array $found, bool $isChosen, Output $output): void
    {
        $told = 0;
        foreach ($found as $one) {
            $decision = $this->engine()->limiter()->peek($one->key, $one->limit);
            // Of all limits only those tell something that were used.
            if ($isChosen || !$decision->allowed || $decision->resetAfter > 0.0) {
                $answer = InWords::answer($decision);
                $output->writeln("{$one->words()}: the next request {$answer}. " . InWords::rest($decision));
                $told++;
            }
        }
        if ($told === 0) {
            $output->writeln('Nothing is spent: the next request passes every limit that was looked at.');
        }
    }
}
