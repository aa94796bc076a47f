<?php

declare(strict_types=1);

namespace Sluice\Laravel;

use Illuminate\Contracts\Foundation\Application;
use RuntimeException;
use Sluice\Extension;

/**
 * Whether the extension is there, and what the configuration says if not.
 */
final class Presence
{
    public function __construct(
        private readonly Application $app,
        private readonly Settings $settings,
    ) {
    }

    /**
     * @throws RuntimeException without the extension, unless everything may pass
     */
    public function limits(): bool
    {
        // Asked for each request: the configuration matters only where it is not.
        return extension_loaded('sluice') || Extension::limits(
            $this->settings->letsThroughWithoutExtension(),
            $this->inProduction(),
            Log::channel($this->settings->logChannel()),
        );
    }

    /** Whether the extension is not there and need not be. */
    public function isDispensable(): bool
    {
        return !extension_loaded('sluice') && $this->settings->letsThroughWithoutExtension() && !$this->inProduction();
    }

    private function inProduction(): bool
    {
        return (bool) $this->app->environment('production');
    }
}
