//! Token bucket: debt in whole tokens, time in whole microseconds.
//!
//! The time form of the algorithm (GCRA, ITU-T I.371, one theoretical arrival
//! time) turns spent tokens into time at the rate of their day, so a changed
//! rate revalues what was spent. Here a state says when the bucket was full and
//! how many tokens were taken since; a new rate only changes how fast they come
//! back.
//!
//! With a rate of N tokens per P µs and a bucket that was full at `a`, of which
//! `n` tokens were taken since, the debt at `now` is `n·P − N·(now − a)` in
//! units of 1/P token. Nothing else is ever stored, so no fraction is lost.

use super::error::{Argument, LimitError};
use super::{Ask, Decision, Fraction, Kind, MAX_LIMIT, MAX_TAKEN, Micros, Number, Outcome, Rate};

/// So many tokens at once, refilled at a steady rate.
///
/// Over any interval T it admits at most capacity + rate · T.
///
/// ```
/// use sluice::limit::{Ask, Kind, Micros, Number, TokenBucket};
///
/// let bucket = TokenBucket::new(2, Number::Int(20))?;
/// let now = Micros(1_000_000);
/// let first = bucket.decide(None, now, Ask::take(2));
/// assert!(first.decision.allowed);
/// let second = bucket.decide(first.write, now, Ask::take(1));
/// assert_eq!(second.decision.retry_after, Some(Micros(50_000)));
/// # Ok::<(), sluice::limit::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    capacity: u32,
    /// `None` denies everything: there is nothing to refill.
    rate: Option<Rate>,
}

/// What is remembered of a bucket: when it was full, and what was taken since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The bucket was full at this instant.
    pub full_at: Micros,
    /// Whole tokens taken since.
    pub taken: u32,
}

impl TokenBucket {
    /// A bucket of `capacity` tokens, refilled with `rate` tokens per second.
    ///
    /// A capacity or a rate of 0 denies every request.
    ///
    /// # Errors
    /// Where capacity is not within `0 ..= 32 000 000`, or the rate outside
    /// what [`Rate::per_second`] allows.
    pub fn new(capacity: i64, rate: Number) -> Result<Self, LimitError> {
        let size = u32::try_from(capacity)
            .ok()
            .filter(|size| *size <= MAX_LIMIT)
            .ok_or_else(|| {
                LimitError::new(
                    Argument::Capacity,
                    format!("must be between 0 and {MAX_LIMIT} tokens, {capacity} given"),
                )
            })?;
        if rate.is_zero() {
            return Ok(Self {
                capacity: 0,
                rate: None,
            });
        }
        let rate = Rate::per_second(rate, size)?;
        Ok(Self {
            capacity: size,
            rate: (size > 0).then_some(rate),
        })
    }

    /// The most tokens that can be there at once.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The rate of refill; `None` if the bucket denies everything.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// The time an empty bucket takes to fill.
    pub fn time_to_fill(&self) -> Micros {
        self.rate
            .map_or(Micros::ZERO, |rate| rate.time_for(self.capacity))
    }

    #[must_use]
    pub(super) fn scaled(&self, factor: Fraction) -> Self {
        let capacity = factor.scale_up(self.capacity);
        Self {
            capacity,
            rate: self.rate.map(|rate| rate.scaled(factor, capacity)),
        }
    }
}

impl Kind for TokenBucket {
    type State = Bucket;

    #[inline(always)]
    fn decide(&self, state: Option<Bucket>, now: Micros, ask: Ask) -> Outcome<Bucket> {
        let Some(rate) = self.rate else {
            return Outcome::of_nothing(ask);
        };
        let (tokens, period) = (rate.tokens(), rate.period());
        let capacity = u64::from(self.capacity);
        let most = u64::from(MAX_TAKEN).min(((1 << 53) - 1) / period) as u32;

        let mut bucket = state.unwrap_or(Bucket {
            full_at: now,
            taken: 0,
        });
        // A state from the future: the clock stepped back. Left alone it would
        // block the key for the whole step.
        let repaired = bucket.full_at > now;
        if repaired {
            bucket.full_at = now;
        }
        bucket.taken = bucket.taken.min(most);

        let refilled = u128::from(now.since(bucket.full_at).0) * u128::from(tokens);
        let mut debt = (u64::from(bucket.taken) * period).saturating_sub(
            // More than fits means full, however long ago that was.
            u64::try_from(refilled).unwrap_or(u64::MAX),
        );
        if debt == 0 {
            bucket = Bucket {
                full_at: now,
                taken: 0,
            };
        }

        let size = capacity * period;
        let fits = ask.cost <= capacity && debt + ask.cost * period <= size;
        let charged = ask.takes(fits);
        if charged {
            let taken = u64::from(bucket.taken)
                .saturating_add(ask.cost)
                .min(u64::from(most));
            debt += (taken - u64::from(bucket.taken)) * period;
            // Move the anchor over the whole periods since: it keeps the count
            // small and loses nothing, as each period brings whole tokens.
            let periods = now.since(bucket.full_at).0 / period;
            bucket = Bucket {
                full_at: bucket.full_at.after(Micros(periods * period)),
                taken: (taken - periods * tokens) as u32,
            };
        }
        let write = charged || (repaired && ask.repairs(fits));

        let retry_after = if fits {
            Some(Micros::ZERO)
        } else if ask.cost > capacity {
            None
        } else {
            Some(Micros((debt + ask.cost * period - size).div_ceil(tokens)))
        };
        Outcome {
            decision: Decision {
                allowed: fits,
                limit: self.capacity,
                remaining: (size.saturating_sub(debt) / period) as u32,
                retry_after,
                reset_after: Micros(debt.div_ceil(tokens)),
            },
            write: write.then_some(bucket),
        }
    }
}
