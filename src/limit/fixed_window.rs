//! Fixed window: starts with the first admitted request, ends on its own.
//!
//! The state holds its own end. A counter with a TTL (INCR, then EXPIRE) takes
//! the end from the key's clock instead, and blocks for ever where a process
//! dies between the two.

use super::error::{Argument, LimitError};
use super::{
    Ask, Decision, Fraction, Kind, MAX_LIMIT, MAX_PERIOD, MAX_TAKEN, Micros, Number, Outcome,
};

/// So many in a window that starts with the first admitted request.
///
/// ```
/// use sluice::limit::{Ask, FixedWindow, Kind, Micros, Number};
///
/// let window = FixedWindow::new(1, Number::Int(60))?;
/// let first = window.decide(None, Micros(0), Ask::take(1));
/// assert!(first.decision.allowed);
/// let second = window.decide(first.write, Micros(59_999_999), Ask::take(1));
/// assert_eq!(second.decision.retry_after, Some(Micros(1)));
/// # Ok::<(), sluice::limit::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    limit: u32,
    length: Micros,
}

/// What is remembered of a window: its end, and what was taken in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant after the window.
    pub ends_at: Micros,
    /// Tokens taken in it.
    pub taken: u32,
}

impl FixedWindow {
    /// At most `limit` in a window of `window` seconds.
    ///
    /// A limit of 0 denies every request.
    ///
    /// # Errors
    /// Where limit is not within `0 ..= 32 000 000`, or the window not within
    /// one microsecond to 366 days.
    pub fn new(limit: i64, window: Number) -> Result<Self, LimitError> {
        let size = u32::try_from(limit)
            .ok()
            .filter(|size| *size <= MAX_LIMIT)
            .ok_or_else(|| {
                LimitError::new(
                    Argument::Limit,
                    format!("must be between 0 and {MAX_LIMIT}, {limit} given"),
                )
            })?;
        let micros = match window {
            Number::Int(seconds) => u64::try_from(seconds)
                .ok()
                .and_then(|seconds| seconds.checked_mul(1_000_000)),
            // Rounding first would let 0.4 µs pass as 0; NAN fails the range.
            Number::Float(seconds) => (1e-6..=MAX_PERIOD.as_secs_f64())
                .contains(&seconds)
                .then(|| (seconds * 1e6).round() as u64),
        };
        let length = micros
            .map(Micros)
            .filter(|length| (Micros(1)..=MAX_PERIOD).contains(length))
            .ok_or_else(|| {
                LimitError::new(
                    Argument::Window,
                    format!(
                        "must be between 0.000001 and {} seconds (366 days), {window} given",
                        MAX_PERIOD.0 / 1_000_000
                    ),
                )
            })?;
        Ok(Self {
            limit: size,
            length,
        })
    }

    /// The most that one window admits.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The window's length.
    pub fn length(&self) -> Micros {
        self.length
    }

    #[must_use]
    pub(super) fn scaled(&self, factor: Fraction) -> Self {
        Self {
            limit: factor.scale_up(self.limit),
            length: self.length,
        }
    }
}

impl Kind for FixedWindow {
    type State = Window;

    #[inline(always)]
    fn decide(&self, state: Option<Window>, now: Micros, ask: Ask) -> Outcome<Window> {
        if self.limit == 0 {
            return Outcome::of_nothing(ask);
        }
        let limit = u64::from(self.limit);
        let latest = now.after(self.length);

        let mut window = state
            .filter(|window| now < window.ends_at)
            .unwrap_or(Window {
                ends_at: latest,
                taken: 0,
            });
        // An end further off than a whole window: the clock stepped back.
        let repaired = window.ends_at > latest;
        if repaired {
            window.ends_at = latest;
        }

        let fits = u64::from(window.taken).saturating_add(ask.cost) <= limit;
        let charged = ask.takes(fits);
        if charged {
            window.taken = u64::from(window.taken)
                .saturating_add(ask.cost)
                .min(u64::from(MAX_TAKEN)) as u32;
        }
        let write = charged || (repaired && ask.repairs(fits));

        let left = window.ends_at.since(now);
        let retry_after = if fits {
            Some(Micros::ZERO)
        } else if ask.cost > limit {
            None
        } else {
            Some(left)
        };
        Outcome {
            decision: Decision {
                allowed: fits,
                limit: self.limit,
                remaining: self.limit.saturating_sub(window.taken),
                retry_after,
                reset_after: if window.taken > 0 { left } else { Micros::ZERO },
            },
            write: write.then_some(window),
        }
    }
}
