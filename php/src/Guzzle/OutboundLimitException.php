<?php

declare(strict_types=1);

namespace Sluice\Guzzle;

use GuzzleHttp\Exception\TransferException;
use Psr\Http\Message\RequestInterface;
use Sluice\Decision;
use Sluice\Source;

/**
 * A request that was not sent, because it would have gone beyond the partner's
 * quota, or because nobody could say.
 *
 * ```php
 * try {
 *     $client->get('https://api.partner.com/orders');
 * } catch (OutboundLimitException $refused) {
 *     $queue->later($refused->retryAfter() ?? 60, $job);
 * }
 * ```
 */
final class OutboundLimitException extends TransferException
{
    public function __construct(
        public readonly RequestInterface $request,
        public readonly Decision $decision,
    ) {
        $after = $this->retryAfter();
        parent::__construct(sprintf(
            'Not sent to %s: %s',
            $request->getUri()->getHost(),
            $decision->source === Source::FailedClosed
                ? 'the store of the rate limit could not be asked'
                : 'its rate limit is used up' . ($after === null ? '' : sprintf(', for another %d s', $after)),
        ));
    }

    /** Whole seconds after which it could be sent, at least 1; null if never. */
    public function retryAfter(): ?int
    {
        $after = $this->decision->retryAfter;
        return $after === null ? null : max(1, (int) ceil($after));
    }
}
