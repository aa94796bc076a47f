<?php

declare(strict_types=1);

namespace app\job;

use Sluice\Limit;
use Sluice\Think\Queue\RateLimited;
use think\queue\Job;

/** One at a time. */
class Hold
{
    use RateLimited;

    public function fire(Job $job, array $data): void
    {
        $ran = $this->limited($job, $data['limit'] ?? Limit::concurrency(1), 'hold', function () use ($job, $data): void {
            if ($data['fails'] ?? false) {
                throw new \DomainException('failed');
            }
            $job->delete();
        });
        echo $ran ? 'ran ' : 'put back ';
    }
}
