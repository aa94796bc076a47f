<?php

declare(strict_types=1);

namespace Sluice\Think\Command;

use RuntimeException;
use Sluice\Extension;
use Sluice\Http\Found;
use Sluice\Think\Engine;
use think\console\Command;
use think\console\Input;
use think\console\input\Argument;
use think\console\Output;
use ValueError;

/** What the commands about a key have in common. */
abstract class LimitCommand extends Command
{
    protected function define(string $name, string $description): void
    {
        $this->setName($name)
            ->setDescription($description)
            ->addArgument('key', Argument::REQUIRED, 'as the log has it, or ip:ADDRESS, user:ID, account:FIELD=VALUE')
            ->addArgument('policy', Argument::OPTIONAL, 'only this policy, spec, or name in the log');
    }

    protected function execute(Input $input, Output $output): int
    {
        try {
            Extension::limits(letThrough: false, production: false);
            $this->warnOfMemoryOfItsOwn($output);
            $lookup = new Lookup($this->engine(), new RouteTable($this->getApp()));
            $policy = (string) $input->getArgument('policy');
            $this->answer($lookup->find((string) $input->getArgument('key'), $policy), $policy !== '', $output);
            foreach (array_keys($lookup->problems) as $problem) {
                $output->comment("Not looked at: {$problem}.");
            }
            return 0;
        } catch (ValueError | RuntimeException $mistake) {
            $output->error($mistake->getMessage());
            return 1;
        }
    }

    /**
     * @param list<Found> $found
     * @param bool $isChosen whether one policy was asked for
     */
    abstract protected function answer(array $found, bool $isChosen, Output $output): void;

    protected function engine(): Engine
    {
        /** @var Engine $engine */
        $engine = $this->getApp()->make(Engine::class);
        return $engine;
    }

    /** A command has shared memory of its own, unless a file is named. */
    private function warnOfMemoryOfItsOwn(Output $output): void
    {
        $status = $this->engine()->status();
        if ($status['store'] === 'shared-memory' && ($status['sharedMemory']['path'] ?? null) === null) {
            $output->warning(
                'This command has shared memory of its own and sees nothing of php-fpm:'
                . ' name a file for both in "sluice.shm_path" of php.ini, or use Redis.'
            );
        }
    }
}
