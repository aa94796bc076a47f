//! Concurrency: so many at the same time.
//!
//! No pure function of a state and a time: in shared memory a permit lasts as
//! long as the worker that holds it, on Redis as long as its lease.

use super::error::{Argument, LimitError};
use super::{Fraction, Micros, Number};

/// At most `max` permits at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    max: u32,
    lease: Micros,
}

/// The most permits of one key: 100 000.
pub const MAX_PERMITS: u32 = 100_000;

impl Concurrency {
    /// At most `max` at once; on Redis a permit that is neither released nor
    /// renewed lapses after `lease` seconds.
    ///
    /// A `max` of 0 denies every request.
    ///
    /// # Errors
    /// Where max is not within `0 ..= 100 000`, or the lease not within one
    /// microsecond to 366 days.
    pub fn new(max: i64, lease: Number) -> Result<Self, LimitError> {
        let size = u32::try_from(max)
            .ok()
            .filter(|size| *size <= MAX_PERMITS)
            .ok_or_else(|| {
                LimitError::new(
                    Argument::Max,
                    format!("must be between 0 and {MAX_PERMITS}, {max} given"),
                )
            })?;
        Ok(Self {
            max: size,
            lease: LimitError::check_length(Argument::Lease, lease)?,
        })
    }

    /// The most permits at once.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// How long a permit lasts on Redis.
    pub fn lease(&self) -> Micros {
        self.lease
    }

    #[must_use]
    pub(super) fn scaled(&self, factor: Fraction) -> Self {
        Self {
            max: factor.scale_up(self.max).min(MAX_PERMITS),
            ..*self
        }
    }
}
