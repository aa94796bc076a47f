//! Debt in whole tokens, time in whole microseconds: the arithmetic of both
//! buckets.
//!
//! With a rate of N tokens per P µs and a bucket from which nothing was owed at
//! `a`, and of which `n` tokens were taken since, the debt at `now` is
//! `n·P − N·(now − a)` in units of 1/P token. Nothing else is ever stored, so no
//! fraction is lost, and a changed rate only changes how fast debt shrinks.

use super::error::{Argument, LimitError};
use super::{Fraction, MAX_TAKEN, Micros, Number, Rate};

/// What is remembered of a bucket: when nothing was owed, and what was taken
/// since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Nothing was owed at this instant: a token bucket was full, a leaky one
    /// empty.
    pub full_at: Micros,
    /// Whole tokens taken since.
    pub taken: u32,
}

/// The numbers of both buckets: how much there can be, and how fast it comes
/// back or goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub size: u32,
    /// `None` denies everything: size or amount are 0.
    pub rate: Option<Rate>,
}

impl Flow {
    /// `size` tokens, and `amount` of them per `per` seconds.
    pub fn new(size: i64, amount: Number, per: Number) -> Result<Self, LimitError> {
        let size = LimitError::check_size(Argument::Capacity, size)?;
        if amount.is_zero() {
            return Ok(Self {
                size: 0,
                rate: None,
            });
        }
        let rate = Rate::new(amount, per, size)?;
        Ok(Self {
            size,
            rate: (size > 0).then_some(rate),
        })
    }

    /// The time in which all of it comes back or goes out.
    pub fn whole(&self) -> Micros {
        self.rate
            .map_or(Micros::ZERO, |rate| rate.time_for(self.size))
    }

    pub fn scaled(&self, factor: Fraction) -> Self {
        let size = factor.scale_up(self.size);
        Self {
            size,
            rate: self.rate.map(|rate| rate.scaled(factor, size)),
        }
    }

    /// Gives back to a bucket of these numbers.
    pub fn give_back(&self, state: Bucket, now: Micros, cost: u64) -> Option<Bucket> {
        let mut debt = Debt::read(Some(state), now, self.rate?);
        debt.give_back(cost);
        Some(debt.state())
    }

    /// What is owed at `now`, in units of 1/P token.
    pub fn owed(&self, state: Bucket, now: Micros) -> u64 {
        self.rate
            .map_or(0, |rate| Debt::read(Some(state), now, rate).owed)
    }

    /// A state of these numbers under another clock.
    pub fn adopted(&self, state: Bucket, from: Micros, to: Micros, share: Fraction) -> Bucket {
        // What came back before the other clock began has to be taken off here.
        let before = from.since(state.full_at).since(to);
        let back = self.rate.map_or(0, |rate| {
            let back = u128::from(before.0) * u128::from(rate.tokens()) / u128::from(rate.period());
            u32::try_from(back).unwrap_or(u32::MAX)
        });
        Bucket {
            full_at: state.full_at.moved(from, to),
            taken: share.scale_up(state.taken.saturating_sub(back)),
        }
    }
}

/// A bucket as it stands at one instant under one rate.
pub(super) struct Debt {
    rate: Rate,
    now: Micros,
    bucket: Bucket,
    /// Owed, in units of 1/P token; below 2⁵³.
    owed: u64,
    /// Whether the state came from the future and was pulled back: the clock
    /// stepped. Left alone it would block the key for the whole step.
    pub repaired: bool,
}

impl Debt {
    /// What is owed at `now`.
    #[inline(always)]
    pub fn read(state: Option<Bucket>, now: Micros, rate: Rate) -> Self {
        let mut bucket = state.unwrap_or(Bucket {
            full_at: now,
            taken: 0,
        });
        let repaired = bucket.full_at > now;
        if repaired {
            bucket.full_at = now;
        }
        bucket.taken = bucket.taken.min(most(rate));
        let repaid = u128::from(now.since(bucket.full_at).0) * u128::from(rate.tokens());
        let owed = (u64::from(bucket.taken) * rate.period()).saturating_sub(
            // More than fits means nothing is owed, however long ago that was.
            u64::try_from(repaid).unwrap_or(u64::MAX),
        );
        if owed == 0 {
            bucket = Bucket {
                full_at: now,
                taken: 0,
            };
        }
        Self {
            rate,
            now,
            bucket,
            owed,
            repaired,
        }
    }

    /// Whether taking `cost` keeps what is owed within `size` tokens.
    #[inline(always)]
    pub fn fits(&self, cost: u64, size: u32) -> bool {
        cost <= u64::from(size)
            && self.owed + cost * self.rate.period() <= u64::from(size) * self.rate.period()
    }

    /// The least time after which [`fits`](Self::fits) holds; `cost` must be
    /// within `size`.
    #[inline(always)]
    pub fn until_fits(&self, cost: u64, size: u32) -> Micros {
        let over = (self.owed + cost * self.rate.period())
            .saturating_sub(u64::from(size) * self.rate.period());
        Micros(over.div_ceil(self.rate.tokens()))
    }

    /// Whether `cost` more tokens can be counted at all.
    #[inline(always)]
    pub fn can_count(&self, cost: u64) -> bool {
        let counted = u64::from(self.bucket.taken) - self.periods() * self.rate.tokens();
        counted + cost <= u64::from(most(self.rate))
    }

    /// The least time after which [`can_count`](Self::can_count) holds.
    pub fn until_counted(&self, cost: u64) -> Micros {
        let over = (u64::from(self.bucket.taken) + cost).saturating_sub(u64::from(most(self.rate)));
        let periods = over.div_ceil(self.rate.tokens());
        let at = Micros(periods * self.rate.period());
        self.bucket.full_at.after(at).since(self.now)
    }

    /// Whole periods since nothing was owed. Each has brought whole tokens.
    #[inline(always)]
    fn periods(&self) -> u64 {
        self.now.since(self.bucket.full_at).0 / self.rate.period()
    }

    /// Takes `cost` tokens, into debt if need be; what cannot be counted is
    /// forgiven.
    #[inline(always)]
    pub fn take(&mut self, cost: u64) {
        let before = u64::from(self.bucket.taken);
        let taken = before.saturating_add(cost).min(u64::from(most(self.rate)));
        self.owed += (taken - before) * self.rate.period();
        // Move the anchor over the whole periods: it keeps the count small and
        // loses nothing.
        let periods = self.periods();
        self.bucket = Bucket {
            full_at: self
                .bucket
                .full_at
                .after(Micros(periods * self.rate.period())),
            taken: (taken - periods * self.rate.tokens()) as u32,
        };
    }

    /// Gives `cost` tokens back; never below nothing owed.
    pub fn give_back(&mut self, cost: u64) {
        let taken = u64::from(self.bucket.taken).saturating_sub(cost);
        self.bucket.taken = taken as u32;
    }

    /// The state to remember.
    pub fn state(&self) -> Bucket {
        self.bucket
    }

    /// Whole tokens that still fit in `size`.
    #[inline(always)]
    pub fn room(&self, size: u32) -> u32 {
        let all = u64::from(size) * self.rate.period();
        (all.saturating_sub(self.owed) / self.rate.period()) as u32
    }

    /// Time until nothing is owed.
    #[inline(always)]
    pub fn until_nothing(&self) -> Micros {
        Micros(self.owed.div_ceil(self.rate.tokens()))
    }
}

/// The most tokens that a state of this rate can count: their debt stays below
/// 2⁵³, where Lua's doubles stop to count by ones.
fn most(rate: Rate) -> u32 {
    u64::from(MAX_TAKEN).min(((1 << 53) - 1) / rate.period()) as u32
}
