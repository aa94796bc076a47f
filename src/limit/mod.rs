//! What a limit is, without a clock, a store or PHP.
//!
//! Each kind is a pure function `(state, now, ask) -> (decision, state)`.
//! Shared memory runs it as it stands, Redis runs its twin in Lua, and the
//! tests hold the two against each other in every field.

mod concurrency;
mod debt;
mod decision;
mod error;
mod fixed_window;
mod fraction;
mod key;
mod leaky_bucket;
mod micros;
mod number;
mod quota;
mod rate;
mod sliding_window;
mod spec;
mod state;
mod token_bucket;
mod window;
mod written;

pub use concurrency::Concurrency;
pub use debt::Bucket;
pub use decision::{Ask, Decision, Mode, Outcome};
pub use error::{Argument, LimitError};
pub use fixed_window::FixedWindow;
pub use fraction::Fraction;
pub use key::{Identity, Key};
pub use leaky_bucket::LeakyBucket;
pub use micros::Micros;
pub use number::Number;
pub use quota::{Period, Quota};
pub use rate::Rate;
pub use sliding_window::{Cell, Cells, MOST_CELLS, SlidingWindow};
pub use spec::{SpecError, parse_spec};
pub use state::State;
pub use token_bucket::TokenBucket;
pub use window::Window;

/// The largest capacity or limit: 32 000 000 tokens.
///
/// Shared memory keeps spent tokens in 25 bits; a bucket needs room there for
/// its capacity and one whole refill (at most 2²⁰ tokens) on top of it.
pub const MAX_LIMIT: u32 = 32_000_000;

/// Spent tokens never count past this, whatever is charged: 2²⁵ − 1.
pub const MAX_TAKEN: u32 = (1 << 25) - 1;

/// The longest window, and the longest time one token may take: 366 days.
pub const MAX_PERIOD: Micros = Micros(366 * 86_400 * 1_000_000);

/// A pure kind of limit: how one caller's state answers one question.
pub trait Kind {
    /// What has to be remembered of one key between two calls.
    type State: State;

    /// Decides, and says what to remember if anything changed.
    ///
    /// `None` as state means that nothing was ever spent, or that it was
    /// forgotten, which for every kind has to mean the same.
    fn decide(&self, state: Option<Self::State>, now: Micros, ask: Ask) -> Outcome<Self::State>;

    /// Gives back `cost` tokens that were taken at `taken_at`: the state to
    /// remember, if they are still in it. Never more than is spent.
    fn give_back(
        &self,
        state: Self::State,
        now: Micros,
        cost: u64,
        taken_at: Micros,
    ) -> Option<Self::State>;

    /// How much counts as spent at `now`, to tell which of two states of one
    /// key is the stricter.
    fn spent(&self, state: Self::State, now: Micros) -> u64;

    /// The state under a clock that shows `to` where its own shows `from`, with
    /// `share` of what was spent, rounded up.
    ///
    /// What lies before the other clock's beginning is as if it were there: it
    /// may count for longer, never shorter.
    fn adopted(&self, state: Self::State, from: Micros, to: Micros, share: Fraction)
    -> Self::State;
}

/// An immutable description of a limit: its kind and its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many tokens at once, refilled at a steady rate.
    TokenBucket(TokenBucket),
    /// So many in a window that starts with the first admitted request.
    FixedWindow(FixedWindow),
    /// So many in any interval of the window's length.
    SlidingWindow(SlidingWindow),
    /// A queue that empties at a steady rate.
    LeakyBucket(LeakyBucket),
    /// So many per calendar period.
    Quota(Quota),
    /// So many at the same time.
    Concurrency(Concurrency),
    /// No limit at all.
    None,
    /// Nothing at all.
    Deny,
}

/// What [`Limit::size`] says of no limit.
pub const UNLIMITED: u32 = u32::MAX;

impl Limit {
    /// The number a caller knows this limit by: its capacity or its limit;
    /// [`UNLIMITED`] for none.
    pub fn size(&self) -> u32 {
        match self {
            Self::TokenBucket(bucket) => bucket.capacity(),
            Self::FixedWindow(window) => window.limit(),
            Self::SlidingWindow(window) => window.limit(),
            Self::LeakyBucket(queue) => queue.capacity(),
            Self::Quota(quota) => quota.limit(),
            Self::Concurrency(concurrency) => concurrency.max(),
            Self::None => UNLIMITED,
            Self::Deny => 0,
        }
    }

    /// The time in which [`size`](Self::size) applies: the window, or the time
    /// an empty bucket takes to fill. Zero where there is none.
    pub fn period(&self) -> Micros {
        match self {
            Self::TokenBucket(bucket) => bucket.time_to_fill(),
            Self::FixedWindow(window) => window.length(),
            Self::SlidingWindow(window) => window.length(),
            Self::LeakyBucket(queue) => queue.time_to_empty(),
            Self::Quota(quota) => quota.usual_length(),
            Self::Concurrency(_) | Self::None | Self::Deny => Micros::ZERO,
        }
    }

    /// What tells this limit's state from that of another limit on one key.
    ///
    /// Numbers that may change from one call to the next are not part of it.
    #[inline(always)]
    pub fn identity(&self) -> Identity<'_> {
        match self {
            Self::TokenBucket(_) => Identity::plain(b'b'),
            Self::FixedWindow(window) => {
                Identity::of_window(b'f', window.own_length().unwrap_or(Micros::ZERO))
            }
            Self::SlidingWindow(window) => Identity::of_window(b's', window.length()),
            Self::LeakyBucket(_) => Identity::plain(b'l'),
            Self::Quota(quota) => Identity {
                zone: quota.zone(),
                ..Identity::of_window(b'q', quota.usual_length())
            },
            Self::Concurrency(_) => Identity::plain(b'c'),
            Self::None => Identity::plain(b'-'),
            Self::Deny => Identity::plain(b'!'),
        }
    }

    /// This limit with all its numbers times `factor`.
    ///
    /// Sizes are rounded up, so that a limit of 1 never becomes one of 0; they
    /// stop at [`MAX_LIMIT`].
    #[must_use]
    pub fn scaled(&self, factor: Fraction) -> Self {
        if factor == Fraction::ONE {
            return self.clone();
        }
        match self {
            Self::TokenBucket(bucket) => Self::TokenBucket(bucket.scaled(factor)),
            Self::FixedWindow(window) => Self::FixedWindow(window.scaled(factor)),
            Self::SlidingWindow(window) => Self::SlidingWindow(window.scaled(factor)),
            Self::LeakyBucket(queue) => Self::LeakyBucket(queue.scaled(factor)),
            Self::Quota(quota) => Self::Quota(quota.scaled(factor)),
            Self::Concurrency(concurrency) => Self::Concurrency(concurrency.scaled(factor)),
            Self::None => Self::None,
            Self::Deny => Self::Deny,
        }
    }

    /// The answer that no state could change: of no limit at all, and of a
    /// limit of 0.
    pub fn stateless(&self, ask: Ask) -> Option<Decision> {
        match self.size() {
            UNLIMITED => Some(self.untouched()),
            0 => Some(Outcome::<()>::of_nothing(ask).decision),
            _ => None,
        }
    }

    /// The decision of a limit from which nothing was ever taken.
    pub fn untouched(&self) -> Decision {
        Decision {
            allowed: true,
            limit: self.size(),
            remaining: self.size(),
            retry_after: Some(Micros::ZERO),
            reset_after: Micros::ZERO,
            delay: Micros::ZERO,
        }
    }
}
