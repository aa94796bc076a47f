//! What a limit is, without a clock, a store or PHP.
//!
//! Each kind is a pure function `(state, now, ask) -> (decision, state)`.
//! Shared memory runs it as it stands, Redis runs its twin in Lua, and the
//! tests hold the two against each other in every field.

mod decision;
mod error;
mod fixed_window;
mod fraction;
mod key;
mod micros;
mod number;
mod rate;
mod token_bucket;

pub use decision::{Ask, Decision, Mode, Outcome};
pub use error::{Argument, LimitError};
pub use fixed_window::{FixedWindow, Window};
pub use fraction::Fraction;
pub use key::{Identity, Key};
pub use micros::Micros;
pub use number::Number;
pub use rate::Rate;
pub use token_bucket::{Bucket, TokenBucket};

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
    type State: Copy;

    /// Decides, and says what to remember if anything changed.
    ///
    /// `None` as state means that nothing was ever spent, or that it was
    /// forgotten, which for every kind has to mean the same.
    fn decide(&self, state: Option<Self::State>, now: Micros, ask: Ask) -> Outcome<Self::State>;
}

/// An immutable description of a limit: its kind and its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many tokens at once, refilled at a steady rate.
    TokenBucket(TokenBucket),
    /// So many in a window that starts with the first admitted request.
    FixedWindow(FixedWindow),
}

impl Limit {
    /// The number a caller knows this limit by: its capacity or its limit.
    pub fn size(&self) -> u32 {
        match self {
            Self::TokenBucket(bucket) => bucket.capacity(),
            Self::FixedWindow(window) => window.limit(),
        }
    }

    /// The time in which [`size`](Self::size) applies: the window, or the time
    /// an empty bucket takes to fill. Zero for a bucket that never fills.
    pub fn period(&self) -> Micros {
        match self {
            Self::TokenBucket(bucket) => bucket.time_to_fill(),
            Self::FixedWindow(window) => window.length(),
        }
    }

    /// What tells this limit's state from that of another limit on one key.
    ///
    /// Numbers that may change from one call to the next are not part of it.
    pub fn identity(&self) -> Identity {
        match self {
            Self::TokenBucket(_) => Identity::TokenBucket,
            Self::FixedWindow(window) => Identity::FixedWindow(window.length()),
        }
    }

    /// This limit with all its numbers times `factor`.
    ///
    /// Sizes are rounded up, so that a limit of 1 never becomes one of 0; they
    /// stop at [`MAX_LIMIT`].
    #[must_use]
    pub fn scaled(&self, factor: Fraction) -> Self {
        if factor == Fraction::ONE {
            return *self;
        }
        match self {
            Self::TokenBucket(bucket) => Self::TokenBucket(bucket.scaled(factor)),
            Self::FixedWindow(window) => Self::FixedWindow(window.scaled(factor)),
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
        }
    }
}
