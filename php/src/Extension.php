<?php

declare(strict_types=1);

namespace Sluice;

use Psr\Log\LoggerInterface;
use RuntimeException;

/**
 * What to do where the extension is not loaded, such as on a laptop.
 */
final class Extension
{
    private static bool $told = false;

    /**
     * Whether to limit: true with the extension. Without it, false only where
     * it was said that everything may pass, loudly, and never in production.
     *
     * @param bool $letThrough whether to let everything through without it
     * @param bool $production whether this is production
     * @throws RuntimeException without the extension otherwise
     */
    public static function limits(bool $letThrough, bool $production, ?LoggerInterface $logger = null): bool
    {
        if (extension_loaded('sluice')) {
            return true;
        }
        if (!$letThrough || $production) {
            throw new RuntimeException(
                'The PHP extension "sluice" is not loaded, so nothing can be limited: add "extension=sluice" to php.ini'
                . ($production
                    ? '. In production requests are never let through without it.'
                    : ', or let everything through on this machine: see "without_extension" in the configuration.')
            );
        }
        if (!self::$told) {
            self::$told = true;
            $warning = 'The PHP extension "sluice" is not loaded: NOTHING IS LIMITED, every request passes.';
            $logger === null ? error_log($warning) : $logger->warning($warning);
        }
        return false;
    }
}
