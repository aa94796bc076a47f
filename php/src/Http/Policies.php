<?php

declare(strict_types=1);

namespace Sluice\Http;

use Sluice\Limit;
use ValueError;

/**
 * Limits by name, and what each goes by.
 *
 * A policy is a limit, or several that are asked together, all or nothing:
 *
 * ```php
 * $policies = new Policies([
 *     'api'   => '20/s burst 100',                        // by client and route
 *     'login' => [
 *         ['limit' => '5/m',  'by' => 'account:email'],   // one account from anywhere
 *         ['limit' => '30/m', 'by' => 'ip'],              // any account from one address
 *     ],
 *     'tiers' => [
 *         ['limit' => '2000/s burst 4000', 'by' => 'site'],
 *         ['limit' => '200/s burst 400',   'by' => 'route'],
 *         ['limit' => '20/s burst 40',     'by' => 'client+route'],
 *     ],
 * ]);
 * $limits = $policies->limits('login', $facts);
 * ```
 *
 * `by` is one word or several joined by `+`: `client` (the user, else the
 * address), `ip`, `account:FIELD` (a field of the request), `route`, and `site`
 * (everybody together). Without it a limit goes by `client+route`.
 *
 * All of it is plain data, so that frameworks can cache their configuration.
 */
final class Policies
{
    public const BY_DEFAULT = 'client+route';

    /** @var array<string, list<array{limit: Limit, by: string}>> */
    private array $known = [];

    /**
     * @param array<string, mixed> $policies a spec, a {@see Limit}, an array with
     *        `limit` and `by`, or a list of such
     */
    public function __construct(private readonly array $policies = [])
    {
    }

    /** @return list<string> */
    public function names(): array
    {
        return array_map('strval', array_keys($this->policies));
    }

    /**
     * The limits of a policy for one request, each with its key.
     *
     * @param string $policy a name of these policies; else a spec if it starts
     *        with a digit; else `none` or `deny`, or a name in the file of
     *        `sluice.config`
     * @return list<Limit>
     * @throws ValueError for a name that nobody knows, and for what is no policy
     */
    public function limits(string $policy, Facts $facts): array
    {
        return array_map(
            static fn (array $part): Limit => self::keyed($part['limit'], $facts, $part['by']),
            $this->parts($policy),
        );
    }

    /**
     * The limits of several policies for one request.
     *
     * @param list<string> $policies names and specs, as {@see limits()} takes them
     * @return list<Limit>
     * @throws ValueError as {@see limits()}
     */
    public function all(array $policies, Facts $facts): array
    {
        $limits = [];
        $specs = 0;
        foreach (array_unique($policies) as $policy) {
            array_push($limits, ...$this->apart($policy, $this->limits($policy, $facts), $specs));
        }
        return $limits;
    }

    /**
     * Two specs have no names, and on one key would be one limit with both
     * costs: all but the first go by their text.
     *
     * @template K of array-key
     * @param array<K, Limit> $limits of the policy
     * @param int $specs how many specs there were so far; counted on
     * @return array<K, Limit>
     */
    public function apart(string $policy, array $limits, int &$specs): array
    {
        if (!$this->isSpec($policy) || count($limits) === 0) {
            return $limits;
        }
        $specs++;
        foreach ($specs === 1 ? [] : $limits as $at => $limit) {
            $limits[$at] = $limit->named(self::nameOf($policy));
        }
        return $limits;
    }

    /**
     * What a spec is called where it needs a name: its text, as names go.
     *
     * ```php
     * Policies::nameOf('20/s burst 100');   // "spec:20/s_burst_100"
     * ```
     */
    public static function nameOf(string $spec): string
    {
        return substr('spec:' . (string) preg_replace('~[^A-Za-z0-9._:/-]+~', '_', $spec), 0, 128);
    }

    /** Whether it is a spec and no name. */
    public function isSpec(string $policy): bool
    {
        return $policy !== '' && ctype_digit($policy[0]) && !array_key_exists($policy, $this->policies);
    }

    /**
     * What a policy consists of, for people.
     *
     * @return list<array{limit: Limit, by: string}>
     * @throws ValueError as {@see limits()}
     */
    public function parts(string $policy): array
    {
        return $this->known[$policy] ??= $this->read($policy);
    }

    /**
     * A limit for whoever `by` says.
     *
     * @throws ValueError for a word that `by` does not know
     */
    public static function keyed(Limit $limit, Facts $facts, string $by = self::BY_DEFAULT): Limit
    {
        return $limit->by(self::key($facts, $by));
    }

    /**
     * The key of whoever `by` says.
     *
     * @throws ValueError for a word that `by` does not know
     */
    public static function key(Facts $facts, string $by = self::BY_DEFAULT): string
    {
        $parts = array_map(static fn (string $word): string => match (true) {
            $word === 'client' => $facts->client(),
            $word === 'ip' => $facts->address(),
            $word === 'route' => Key::of('route', $facts->route),
            $word === 'site' => '',
            str_starts_with($word, 'account:') => $facts->account(substr($word, strlen('account:'))),
            default => throw self::unknownWord($word),
        }, explode('+', $by));
        // One part is a key already; several must not run together.
        return count($parts) === 1 ? $parts[0] : Key::of(...$parts);
    }

    /** @return list<array{limit: Limit, by: string}> */
    private function read(string $name): array
    {
        if (!array_key_exists($name, $this->policies)) {
            return [['limit' => $this->elsewhere($name), 'by' => self::BY_DEFAULT]];
        }
        $policy = $this->policies[$name];
        $parts = is_array($policy) && array_is_list($policy) ? $policy : [$policy];
        $several = count($parts) > 1;
        $read = [];
        foreach ($parts as $number => $part) {
            $part = is_array($part) ? $part : ['limit' => $part];
            $limit = $part['limit'] ?? null;
            $by = $part['by'] ?? self::BY_DEFAULT;
            $unknown = array_diff_key($part, ['limit' => 1, 'by' => 1]);
            if (!(is_string($limit) || $limit instanceof Limit) || !is_string($by) || $unknown !== []) {
                throw new ValueError(
                    "the policy \"{$name}\" must be a spec, a limit, or a list of arrays with \"limit\" and \"by\""
                );
            }
            $limit = is_string($limit) ? $this->ofText($name, $limit) : $limit;
            // Parts of one kind and one key would be one limit, were it not for their names.
            $read[] = ['limit' => $limit->named($several ? "{$name}.{$number}" : $name), 'by' => $by];
            array_map(self::checkWord(...), explode('+', $by));
        }
        return $read;
    }

    private function elsewhere(string $name): Limit
    {
        if ($name === '') {
            throw new ValueError('a policy must have a name, such as "api", or be a spec, such as "60/m"');
        }
        if (ctype_digit($name[0])) {
            return Limit::parse($name);
        }
        if ($name === 'none' || $name === 'deny') {
            return $this->ofText($name, $name);
        }
        try {
            return Limit::policy($name);
        } catch (ValueError $unknown) {
            $ours = $this->names() === [] ? 'none' : implode(', ', $this->names());
            throw new ValueError("there is no policy \"{$name}\"; configured are: {$ours}", previous: $unknown);
        }
    }

    private function ofText(string $name, string $text): Limit
    {
        return match ($text) {
            'none' => Limit::none(),
            'deny' => Limit::deny(),
            default => self::parse($name, $text),
        };
    }

    private static function parse(string $name, string $text): Limit
    {
        try {
            return $text !== '' && ctype_digit($text[0]) ? Limit::parse($text) : Limit::policy($text);
        } catch (ValueError $error) {
            throw new ValueError("the policy \"{$name}\": {$error->getMessage()}", previous: $error);
        }
    }

    private static function checkWord(string $word): void
    {
        if (!in_array($word, ['client', 'ip', 'route', 'site'], true) && !str_starts_with($word, 'account:')) {
            throw self::unknownWord($word);
        }
    }

    private static function unknownWord(string $word): ValueError
    {
        return new ValueError(
            "\"by\" does not know \"{$word}\"; it takes client, ip, account:FIELD, route and site, joined by +"
        );
    }
}
