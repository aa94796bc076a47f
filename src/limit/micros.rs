//! Whole microseconds: the only unit of time in this crate.

/// A point in time or a length of time, in whole microseconds.
///
/// Which clock a point belongs to is decided by the store that read it; points
/// of two stores are never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Micros {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Seconds as PHP users read them.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whole seconds, rounded up, as HTTP headers want them.
    pub fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// The time from `earlier` to this point; zero if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// This point under a clock that shows `to` where its own shows `from`.
    #[must_use]
    pub fn moved(self, from: Self, to: Self) -> Self {
        if self >= from {
            to.after(self.since(from))
        } else {
            to.since(from.since(self))
        }
    }

    /// This point `length` later; the end of time if there is no such point.
    #[must_use]
    pub fn after(self, length: Self) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}
