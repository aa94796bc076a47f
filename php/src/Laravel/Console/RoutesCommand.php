<?php

declare(strict_types=1);

namespace Sluice\Laravel\Console;

use Illuminate\Console\Command;

/**
 * Which routes are limited, and by what. Fails if one is not, so that a build
 * can keep it so.
 */
final class RoutesCommand extends Command
{
    use NeedsTheExtension;

    protected $signature = 'sluice:routes
        {--path= : Only URIs like this, such as "api/*"}
        {--json : As JSON}';

    protected $description = 'List what limits each route; fails if a route is not limited';

    public function handle(RouteTable $table): int
    {
        if (!$this->hasTheExtension()) {
            return self::FAILURE;
        }
        $rows = $table->rows(self::text($this->option('path')));
        $open = array_filter($rows, static fn (array $row): bool => $row['by'] === 'nothing');
        if ($this->option('json')) {
            $this->line(json_encode($rows, JSON_UNESCAPED_SLASHES | JSON_PRETTY_PRINT | JSON_THROW_ON_ERROR));
            return $open === [] ? self::SUCCESS : self::FAILURE;
        }
        $this->table(
            ['Method', 'URI', 'Name', 'Limited by', 'Limits'],
            array_map(static fn (array $row): array => [
                $row['method'],
                $row['uri'],
                $row['name'],
                $row['by'] === 'nothing' ? '<error>nothing</error>' : $row['by'],
                implode("\n", [...$row['limits'], ...array_filter([$row['error']])]),
            ], $rows),
        );
        if ($open === []) {
            match (count($rows)) {
                0 => $this->warn('There is no such route.'),
                1 => $this->info('The one route is limited.'),
                default => $this->info(sprintf('All %d routes are limited.', count($rows))),
            };
            return self::SUCCESS;
        }
        $this->error(sprintf('%d of %d routes are not limited.', count($open), count($rows)));
        $this->line('Give them a policy: ->middleware(\'sluice:api\'), or \'sluice:none\' where that is meant.');
        return self::FAILURE;
    }
}
