<?php

declare(strict_types=1);

namespace Sluice\Tests\Support;

/** A child process. Its output goes to a file, so that it never blocks on us. */
final class Process implements Stoppable
{
    /** @var resource */
    private $handle;
    /** Known once it has ended: PHP tells it only once. */
    private ?int $exitCode = null;

    /**
     * @param list<string> $command
     * @param array<string, string> $environment on top of our own
     */
    public function __construct(
        private readonly array $command,
        string $stdout,
        string $stderr,
        ?string $directory = null,
        array $environment = [],
    ) {
        $files = [['file', '/dev/null', 'r'], ['file', $stdout, 'w'], ['file', $stderr, 'a']];
        $handle = proc_open($command, $files, $pipes, $directory, $environment + getenv());
        if ($handle === false) {
            throw new \RuntimeException("cannot start {$command[0]}");
        }
        $this->handle = $handle;
        Running::add($this);
    }

    public function hasEnded(): bool
    {
        if ($this->exitCode === null) {
            $status = proc_get_status($this->handle);
            if (!$status['running']) {
                // As a shell says it: 128 and the signal that ended it.
                $this->exitCode = $status['signaled'] ? 128 + $status['termsig'] : $status['exitcode'];
            }
        }
        return $this->exitCode !== null;
    }

    /** Waits for the end, and for no longer than it may take. */
    public function wait(float $seconds): int
    {
        Wait::until("{$this->command[0]} ends", fn () => $this->hasEnded(), $seconds);
        return $this->exitCode;
    }

    public function signal(int $signal): void
    {
        if (!$this->hasEnded()) {
            proc_terminate($this->handle, $signal);
        }
    }

    public function stop(): void
    {
        // One that stands still would not hear that it is to end.
        $this->signal(SIGCONT);
        $this->signal(SIGTERM);
        try {
            $this->wait(5);
        } catch (\RuntimeException) {
            $this->signal(SIGKILL);
            $this->wait(5);
        }
    }
}
