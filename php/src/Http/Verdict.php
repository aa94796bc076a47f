<?php

declare(strict_types=1);

namespace Sluice\Http;

use Sluice\Decision;
use Sluice\Limit;
use Sluice\Permit;

/**
 * What became of one request: may it go on, what to tell the client, and what
 * to write down.
 */
final class Verdict
{
    /** Whether the request may go on. */
    public readonly bool $allowed;

    /**
     * @param Decision|null $decision null where no limit was asked
     * @param list<Limit> $limits what was asked, in the order of the decision's parts
     * @param string|null $passedBy what of the allow list let it pass, in words
     */
    public function __construct(
        public readonly Facts $facts,
        public readonly ?Decision $decision,
        private readonly array $limits,
        public readonly ?string $passedBy = null,
    ) {
        $this->allowed = $decision === null || $decision->allowed;
    }

    /** Whether enforcing would have refused: a dry run, or `sluice.mode = observe`. */
    public function wouldDeny(): bool
    {
        return $this->decision?->wouldDeny ?? false;
    }

    /**
     * Whole seconds after which the same request would pass, at least 1; null
     * if it may pass now, or never.
     */
    public function retryAfter(): ?int
    {
        return $this->decision === null ? null : HeaderStyle::retryAfter($this->decision);
    }

    /**
     * The headers for the answer.
     *
     * @return array<string, string>
     */
    public function headers(HeaderStyle $style = HeaderStyle::Standard): array
    {
        return $this->decision === null ? [] : $style->of($this->decision);
    }

    /**
     * What to tell a refused client: a problem document, as RFC 9457 and the
     * IETF's draft on rate limits have it.
     *
     * ```php
     * $response->getBody()->write(json_encode($verdict->problem()));   // application/problem+json
     * ```
     *
     * @return array{type: string, title: string, status: int, retryAfter?: int, violated-policies: list<string>}
     */
    public function problem(): array
    {
        $decision = $this->decision;
        $parts = $decision === null ? [] : ($decision->parts === [] ? [$decision] : $decision->parts);
        $refused = array_filter($parts, static fn (Decision $part): bool => !$part->allowed);
        $after = $this->retryAfter();
        return [
            'type' => 'https://iana.org/assignments/http-problem-types#quota-exceeded',
            'title' => 'Too Many Requests',
            'status' => 429,
            ...($after === null ? [] : ['retryAfter' => $after]),
            'violated-policies' => array_values(array_unique(
                array_map(static fn (Decision $part): string => $part->policy ?: 'default', $refused),
            )),
        ];
    }

    /** Sends the headers, and for a denial a 429 with a JSON body. For plain PHP. */
    public function send(): void
    {
        $this->decision?->send();
    }

    /** Whether permits of concurrency limits were taken, to be released when the answer was sent. */
    public function holdsPermits(): bool
    {
        return $this->permits() !== [];
    }

    /** Gives back the permits of concurrency limits: the answer was sent. */
    public function release(): void
    {
        foreach ($this->permits() as $permit) {
            $permit->release();
        }
    }

    /**
     * What a log line or an event should say.
     *
     * @return array{key: string, user: ?string, ip: string, route: string, remaining: ?int,
     *     capacity: ?int, rate: string, uri: string, method: string, policy: string,
     *     retry_after: ?float, source: ?string}
     */
    public function context(): array
    {
        $decision = $this->decision;
        return [
            'key' => LogText::of($decision->key ?? ''),
            'user' => $this->facts->user === null ? null : LogText::of($this->facts->user),
            'ip' => LogText::of($this->facts->ip),
            'route' => LogText::of($this->facts->route),
            'remaining' => $decision?->remaining,
            'capacity' => $decision?->limit,
            'rate' => (string) $this->limit(),
            'uri' => LogText::of($this->facts->uri),
            'method' => LogText::of($this->facts->method),
            'policy' => $decision->policy ?? '',
            'retry_after' => $decision?->retryAfter,
            'source' => $decision?->source->value,
        ];
    }

    /** The limit that the decision speaks of: which refused, or has least left. */
    public function limit(): ?Limit
    {
        $decision = $this->decision;
        if ($decision === null) {
            return $this->limits[0] ?? null;
        }
        foreach ($decision->parts as $number => $part) {
            if (
                $part->key === $decision->key && $part->policy === $decision->policy
                && $part->limit === $decision->limit && $part->allowed === $decision->allowed
            ) {
                return $this->limits[$number] ?? null;
            }
        }
        return $this->limits[0] ?? null;
    }

    /** @return list<Permit> of concurrency limits, that were taken */
    public function permits(): array
    {
        $decisions = $this->decision === null ? [] : [$this->decision, ...$this->decision->parts];
        return array_values(array_filter(
            array_map(static fn (Decision $decision): ?Permit => $decision->permit, $decisions),
        ));
    }
}
