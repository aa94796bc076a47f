//! Leaky bucket as a queue: whatever comes in, a constant stream goes out.
//!
//! J. Turner, "New directions in communications", 1986. A request books a place
//! and is told how long to wait for it; a full queue refuses.

use super::debt::{Bucket, Debt, Flow};
use super::error::LimitError;
use super::{Ask, Decision, Fraction, Kind, Micros, Mode, Number, Outcome, Rate};

/// A queue of so many places that empties at a steady rate.
///
/// ```
/// use sluice::limit::{Ask, Kind, LeakyBucket, Micros, Number};
///
/// let queue = LeakyBucket::with_period(2, Number::Int(10), Number::Int(1))?;
/// let first = queue.decide(None, Micros(0), Ask::take(1));
/// assert_eq!(first.decision.delay, Micros(0));
/// let second = queue.decide(first.write, Micros(0), Ask::take(1));
/// assert_eq!(second.decision.delay, Micros(100_000));
/// assert!(!queue.decide(second.write, Micros(0), Ask::take(1)).decision.allowed);
/// # Ok::<(), sluice::limit::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakyBucket(Flow);

impl LeakyBucket {
    /// A queue of `capacity` places, from which `rate` go out per `per`
    /// seconds.
    ///
    /// A capacity or a rate of 0 denies every request.
    ///
    /// # Errors
    /// Where capacity is not within `0 ..= 32 000 000`, or the rate outside
    /// what [`Rate::new`] allows.
    pub fn with_period(capacity: i64, rate: Number, per: Number) -> Result<Self, LimitError> {
        Flow::new(capacity, rate, per).map(Self)
    }

    /// The places in the queue.
    pub fn capacity(&self) -> u32 {
        self.0.size
    }

    /// The rate at which it empties; `None` if it denies everything.
    pub fn rate(&self) -> Option<Rate> {
        self.0.rate
    }

    /// The time a full queue takes to empty.
    pub fn time_to_empty(&self) -> Micros {
        self.0.whole()
    }

    #[must_use]
    pub(super) fn scaled(&self, factor: Fraction) -> Self {
        Self(self.0.scaled(factor))
    }
}

impl Kind for LeakyBucket {
    type State = Bucket;

    fn decide(&self, state: Option<Bucket>, now: Micros, ask: Ask) -> Outcome<Bucket> {
        let Flow {
            size: capacity,
            rate: Some(rate),
        } = self.0
        else {
            return Outcome::of_nothing(ask);
        };
        let mut debt = Debt::read(state, now, rate);
        // What is in the queue goes out first.
        let delay = debt.until_nothing();
        let max_wait = match ask.mode {
            Mode::Reserve(max_wait) => Some(max_wait),
            _ => None,
        };
        let in_time = max_wait.is_none_or(|max_wait| delay <= max_wait);
        let fits = in_time && debt.fits(ask.cost, capacity);
        let taken = ask.takes(fits);
        if taken {
            debt.take(ask.cost);
        }
        let write = taken || (debt.repaired && ask.repairs(fits));
        let retry_after = if fits {
            Some(Micros::ZERO)
        } else if ask.cost > u64::from(capacity) {
            None
        } else {
            let for_room = debt.until_fits(ask.cost, capacity);
            let for_time = max_wait.map_or(Micros::ZERO, |most| debt.until_nothing().since(most));
            Some(for_room.max(for_time))
        };
        Outcome {
            decision: Decision {
                allowed: fits,
                limit: capacity,
                remaining: debt.room(capacity),
                retry_after,
                reset_after: debt.until_nothing(),
                delay: if fits { delay } else { Micros::ZERO },
            },
            write: write.then(|| debt.state()),
        }
    }

    fn give_back(&self, state: Bucket, now: Micros, cost: u64, _: Micros) -> Option<Bucket> {
        self.0.give_back(state, now, cost)
    }

    fn spent(&self, state: Bucket, now: Micros) -> u64 {
        self.0.owed(state, now)
    }

    fn adopted(&self, state: Bucket, from: Micros, to: Micros, share: Fraction) -> Bucket {
        self.0.adopted(state, from, to, share)
    }
}
