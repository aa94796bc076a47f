//! Token bucket: debt in whole tokens, time in whole microseconds.
//!
//! The time form of the algorithm (GCRA, ITU-T I.371, one theoretical arrival
//! time) turns spent tokens into time at the rate of their day, so a changed
//! rate revalues what was spent. Here a state says when the bucket was full and
//! how many tokens were taken since; a new rate only changes how fast they come
//! back.

use super::debt::{Bucket, Debt, Flow};
use super::error::LimitError;
use super::{Ask, Decision, Fraction, Kind, Micros, Number, Outcome, Rate};

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
    flow: Flow,
    leased: bool,
}

impl TokenBucket {
    /// A bucket of `capacity` tokens, refilled with `rate` tokens per second.
    ///
    /// # Errors
    /// As [`with_period`](Self::with_period).
    pub fn new(capacity: i64, rate: Number) -> Result<Self, LimitError> {
        Self::with_period(capacity, rate, Number::Int(1))
    }

    /// A bucket of `capacity` tokens, refilled with `rate` tokens per `per`
    /// seconds.
    ///
    /// A capacity or a rate of 0 denies every request.
    ///
    /// # Errors
    /// Where capacity is not within `0 ..= 32 000 000`, or the rate outside
    /// what [`Rate::new`] allows.
    pub fn with_period(capacity: i64, rate: Number, per: Number) -> Result<Self, LimitError> {
        Ok(Self {
            flow: Flow::new(capacity, rate, per)?,
            leased: false,
        })
    }

    /// The same bucket, of which a host may take tokens ahead, to give them out
    /// without asking. How, and whether, is the store's business.
    #[must_use]
    pub fn leased(self) -> Self {
        Self {
            leased: true,
            ..self
        }
    }

    /// Whether a host may take tokens ahead.
    pub fn is_leased(&self) -> bool {
        self.leased
    }

    /// The most tokens that can be there at once.
    pub fn capacity(&self) -> u32 {
        self.flow.size
    }

    /// The rate of refill; `None` if the bucket denies everything.
    pub fn rate(&self) -> Option<Rate> {
        self.flow.rate
    }

    /// The time an empty bucket takes to fill.
    pub fn time_to_fill(&self) -> Micros {
        self.flow.whole()
    }

    #[must_use]
    pub(super) fn scaled(&self, factor: Fraction) -> Self {
        Self {
            flow: self.flow.scaled(factor),
            ..*self
        }
    }
}

impl Kind for TokenBucket {
    type State = Bucket;

    #[inline(always)]
    fn decide(&self, state: Option<Bucket>, now: Micros, ask: Ask) -> Outcome<Bucket> {
        let Flow {
            size: capacity,
            rate: Some(rate),
        } = self.flow
        else {
            return Outcome::of_nothing(ask);
        };
        let mut debt = Debt::read(state, now, rate);
        let possible = ask.cost <= u64::from(capacity);
        let wait = if possible && !debt.fits(ask.cost, capacity) {
            debt.until_fits(ask.cost, capacity)
        } else {
            Micros::ZERO
        };
        // What fits now can be counted; what is booked ahead may be too much.
        let fits = possible
            && (wait == Micros::ZERO || wait <= ask.max_wait() && debt.can_count(ask.cost));
        let taken = ask.takes(fits);
        if taken {
            debt.take(ask.cost);
        }
        let write = taken || (debt.repaired && ask.repairs(fits));
        let retry_after = if fits {
            Some(Micros::ZERO)
        } else if !possible {
            None
        } else {
            let in_time = debt.until_fits(ask.cost, capacity).since(ask.max_wait());
            // What fits without a wait can always be counted.
            Some(if ask.max_wait() == Micros::ZERO {
                in_time
            } else {
                in_time.max(debt.until_counted(ask.cost))
            })
        };
        Outcome {
            decision: Decision {
                allowed: fits,
                limit: capacity,
                remaining: debt.room(capacity),
                retry_after,
                reset_after: debt.until_nothing(),
                delay: if fits { wait } else { Micros::ZERO },
            },
            write: write.then(|| debt.state()),
        }
    }

    fn give_back(&self, state: Bucket, now: Micros, cost: u64, _: Micros) -> Option<Bucket> {
        self.flow.give_back(state, now, cost)
    }

    fn spent(&self, state: Bucket, now: Micros) -> u64 {
        self.flow.owed(state, now)
    }

    fn adopted(&self, state: Bucket, from: Micros, to: Micros, share: Fraction) -> Bucket {
        self.flow.adopted(state, from, to, share)
    }
}
