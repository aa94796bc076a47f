<?php

declare(strict_types=1);

namespace Sluice\Think\Command;

use Sluice\Think\Settings;
use think\console\Command;
use think\console\Input;
use think\console\input\Option;
use think\console\Output;
use think\console\Table;

/** `php think sluice:routes`: which routes are limited by what; 1 if one is not. */
final class Routes extends Command
{
    protected function configure(): void
    {
        $this->setName('sluice:routes')
            ->setDescription('List what limits each route; ends with 1 if one is not limited')
            ->addOption('json', '', Option::VALUE_NONE, 'as JSON');
    }

    protected function execute(Input $input, Output $output): int
    {
        $rows = array_map(static fn (array $route): array => [
            'methods' => $route['methods'],
            'rule' => $route['rule'],
            'limits' => [
                ...array_map(self::words(...), $route['limits']),
                ...($route['theirs'] ? ['think-throttle'] : []),
            ],
        ], (new RouteTable($this->getApp()))->routes());
        if ($input->getOption('json')) {
            $output->writeln(json_encode($rows, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR));
        } else {
            $table = new Table();
            $table->setHeader(['Method', 'Rule', 'Limited by']);
            $table->setRows(array_map(static fn (array $row): array => [
                $row['methods'], $row['rule'], implode('; ', $row['limits']) ?: 'nothing',
            ], $rows));
            $this->table($table);
            $output->comment('Attributes, and what is routed by controller and action without a rule, are not listed.');
        }
        return in_array([], array_column($rows, 'limits'), true) ? 1 : 0;
    }

    private static function words(Settings $settings): string
    {
        $rate = $settings->get('visit_rate');
        /** @var list<string>|null $methods */
        $methods = $settings->get('visit_method');
        $by = match (true) {
            $settings->get('key') === true => '__IP__',
            is_string($settings->get('key')) => $settings->get('key'),
            default => 'a closure',
        };
        $words = array_map(static fn (string $policy): string => "policy {$policy}", $settings->policies());
        if ($rate !== null && $rate !== '') {
            $words[] = "{$rate} by {$by}" . (is_array($methods) ? ' (' . implode(', ', $methods) . ')' : '');
        }
        return implode(', ', $words);
    }
}
