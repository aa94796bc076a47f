//! Leases: tokens of a bucket that a host takes ahead and gives out by itself.
//!
//! Redis is charged for a batch in one call; the host's workers then take from
//! it without asking. So never more is given out than was charged, whatever
//! happens; what can happen is that tokens are lost, those that are left when
//! their time is up or a worker dies that has just taken some.
//!
//! A batch is what was used of the one before, in proportion to a lease's time,
//! and at most double. Near the limit Redis gives less: never more than a
//! quarter of what is left, so that other hosts get their part. One worker
//! takes the next batch; the others meanwhile ask for what they need.

use super::host::{Host, Spot};
use crate::limit::{Ask, Decision, Kind, Micros, TokenBucket};
use crate::store::clock::Clock;
use crate::store::shm::leases::{Lease, MOST_LEASED};
use crate::store::{Answer, Source};

/// How long tokens that were taken ahead are given out.
pub const LASTS: Micros = Micros(100_000);

impl<C: Clock> Host<C> {
    /// Takes from what this host holds, or looks whether it could.
    #[inline(always)]
    pub fn spend(
        &self,
        spot: Spot,
        bucket: &TokenBucket,
        cost: u32,
        takes: bool,
    ) -> Option<Answer> {
        let left = loop {
            let found = self.mapping().find_lease(spot.place, spot.now);
            let lease = found.lease?;
            let left = lease.left_at(spot.now).checked_sub(cost)?;
            if !takes {
                break lease.left;
            }
            let less = Lease { left, ..lease };
            if self.mapping().swap_lease(spot.place, found, less) {
                break left;
            }
        };
        Some(self.answer_of_lease(spot, bucket, left))
    }

    /// With `left` tokens here. What is left in Redis is what was last seen to
    /// be.
    fn answer_of_lease(&self, spot: Spot, bucket: &TokenBucket, left: u32) -> Answer {
        let capacity = bucket.capacity();
        let in_redis = self.mapping().near().read(spot.place).map_or(0, |seen| {
            let at = seen.at.after(spot.now.since(seen.seen_at));
            let look = bucket.decide(seen.state, at, Ask::peek(0));
            seen.state.map_or(0, |_| look.decision.remaining)
        });
        let remaining = left.saturating_add(in_redis).min(capacity);
        Answer {
            decision: Decision {
                allowed: true,
                limit: capacity,
                remaining,
                retry_after: Some(Micros::ZERO),
                reset_after: bucket
                    .rate()
                    .map_or(Micros::ZERO, |rate| rate.time_for(capacity - remaining)),
                delay: Micros::ZERO,
            },
            source: Source::Lease,
            at: Micros::ZERO,
            permit: None,
        }
    }

    /// How many tokens to take on top of `cost`; `None` where another worker is
    /// about to. Has to be followed by [`keep`](Self::keep).
    pub fn ahead_of(&self, spot: Spot, cost: u32) -> Option<u32> {
        let now = spot.now;
        let found = self.mapping().find_lease(spot.place, now);
        let before = found.lease.unwrap_or_default();
        let is_live = before.lapses_at > now;
        if before.asked && is_live {
            return None;
        }
        let since = if is_live {
            LASTS.since(before.lapses_at.since(now))
        } else {
            LASTS.after(now.since(before.lapses_at))
        };
        let used = u64::from(before.batch.saturating_sub(before.left));
        let batch = used * LASTS.0 / since.0.max(LASTS.0 / 2);
        let asked = if is_live {
            Lease {
                asked: true,
                ..before
            }
        } else {
            Lease {
                left: 0,
                batch: used as u32,
                lapses_at: now.after(LASTS),
                asked: true,
            }
        };
        let more = batch.saturating_sub(cost.into());
        self.mapping()
            .swap_lease(spot.place, found, asked)
            .then(|| more.min(MOST_LEASED.into()) as u32)
    }

    /// Puts tokens where all workers find them. `taken` were taken in all,
    /// `on_top` of them can be given out; both 0 where Redis gave none, and
    /// then what is left lasts no longer.
    pub fn keep(&self, spot: Spot, taken: u32, on_top: u32) {
        loop {
            let now = self.now();
            let found = self.mapping().find_lease(spot.place, now);
            let before = found.lease.unwrap_or_default();
            let left = before.left_at(now);
            let lease = Lease {
                left: left.saturating_add(on_top).min(MOST_LEASED),
                batch: left.saturating_add(taken).min(MOST_LEASED),
                lapses_at: if taken > 0 {
                    now.after(LASTS)
                } else {
                    before.lapses_at
                },
                asked: false,
            };
            if self.mapping().swap_lease(spot.place, found, lease) {
                return;
            }
        }
    }

    /// Tokens that this host holds of a key.
    pub fn held(&self, spot: Spot) -> u32 {
        let found = self.mapping().find_lease(spot.place, spot.now);
        found.lease.map_or(0, |lease| lease.left_at(spot.now))
    }

    /// Gives tokens back to the lease, if one lasts that had room for them when
    /// it was last filled. Those of an earlier one may have come back to the
    /// bucket meanwhile; Redis knows how many.
    pub fn give_back(&self, spot: Spot, cost: u32) -> bool {
        loop {
            let found = self.mapping().find_lease(spot.place, spot.now);
            let Some(lease) = found.lease.filter(|lease| lease.lapses_at > spot.now) else {
                return false;
            };
            let left = lease.left.saturating_add(cost);
            if left > lease.batch {
                return false;
            }
            let more = Lease { left, ..lease };
            if self.mapping().swap_lease(spot.place, found, more) {
                return true;
            }
        }
    }

    /// Gives out none of what this host holds of a key.
    pub fn drop_lease(&self, spot: Spot) {
        loop {
            let found = self.mapping().find_lease(spot.place, spot.now);
            if found.lease.is_none()
                || self
                    .mapping()
                    .swap_lease(spot.place, found, Lease::default())
            {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::Arc;

    use super::*;
    use crate::limit::{Key, Limit, Number};
    use crate::store::clock::ManualClock;
    use crate::store::shm::{Mapping, SharedMemory, Table};

    #[test]
    fn one_worker_takes_the_next_batch_and_if_it_never_does_another() {
        let clock = Rc::new(ManualClock::at(Micros(1_000_000)));
        let mapping = Mapping::anonymous(1 << 16, Micros::ZERO).unwrap();
        let memory = SharedMemory::with_clock(Arc::new(Table::new(mapping)), Rc::clone(&clock));
        let host = Host::new(memory, b"redis://a");
        let bucket = TokenBucket::new(1000, Number::Int(1)).unwrap().leased();
        let limit = Limit::TokenBucket(bucket);
        let spot = || host.spot_of(Key::unnamed(b"k"), &limit);

        assert_eq!(host.ahead_of(spot(), 1), Some(0), "it is not known yet");
        assert_eq!(host.ahead_of(spot(), 1), None, "somebody is about to");
        host.keep(spot(), 40, 39);
        for _ in 0..39 {
            assert!(host.spend(spot(), &bucket, 1, true).is_some());
        }
        assert!(host.spend(spot(), &bucket, 1, true).is_none());
        // All used in no time: twice as many.
        assert_eq!(host.ahead_of(spot(), 1), Some(79));
        assert_eq!(host.ahead_of(spot(), 1), None);
        // Its worker was killed. A lease's time is kept to a millisecond.
        clock.advance(LASTS);
        assert!(matches!(host.ahead_of(spot(), 1), Some(38..=39)));
    }
}
