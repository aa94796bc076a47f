<?php

declare(strict_types=1);

namespace Sluice\Think\Queue;

use RuntimeException;
use Sluice\Limit;
use Sluice\Think\Engine;
use think\queue\Job;

/**
 * For the jobs of think-queue: runs one if its limits allow it, and puts it back
 * with the exact delay if not.
 *
 * ```php
 * final class SendMail
 * {
 *     use RateLimited;
 *
 *     public function fire(Job $job, array $data): void
 *     {
 *         $this->limited($job, 'mail', $data['domain'], function () use ($job, $data): void {
 *             Mailer::send($data);
 *             $job->delete();
 *         });
 *     }
 * }
 * ```
 *
 * For think-queue a job that was put back was an attempt: give such jobs no
 * `--tries`, or a time by which they are done.
 */
trait RateLimited
{
    /**
     * @param Limit|string $policy a policy of `config/sluice.php`, a spec, or a limit
     * @param string $key who or what is limited; all limits of the policy go by it
     * @param callable(): void $do what the job does, `$job->delete()` included
     * @return bool whether it was run
     * @throws RuntimeException if the limits can never allow it
     * @throws \ValueError for a policy that nobody knows
     */
    protected function limited(Job $job, Limit|string $policy, string $key, callable $do): bool
    {
        $engine = Engine::current();
        if (!$engine->limits()) {
            $do();
            return true;
        }
        $limits = $policy instanceof Limit ? [$policy] : array_column($engine->policies->parts($policy), 'limit');
        $decision = $engine->limiter()->attemptAll(
            ...array_map(static fn (Limit $limit): Limit => $limit->by($key), $limits),
        );
        if (!$decision->allowed) {
            $after = $decision->retryAfter ?? throw new RuntimeException(
                "the job \"{$job->getName()}\" can never run: \"{$decision->policy}\" allows nothing"
            );
            $job->release((int) ceil($after));
            return false;
        }
        try {
            $do();
        } finally {
            // A worker lives long: what is held is held for this job only.
            foreach ([$decision, ...$decision->parts] as $part) {
                $part->permit?->release();
            }
        }
        return true;
    }
}
