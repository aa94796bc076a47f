//! Fixed window: starts with the first admitted request, ends on its own.
//!
//! The state holds its own end. A counter with a TTL (INCR, then EXPIRE) takes
//! the end from the key's clock instead, and blocks for ever where a process
//! dies between the two.

use super::error::{Argument, LimitError};
use super::window::{self, Window};
use super::{Ask, Fraction, Kind, Micros, Number, Outcome};

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

impl FixedWindow {
    /// At most `limit` in a window of `window` seconds.
    ///
    /// A limit of 0 denies every request.
    ///
    /// # Errors
    /// Where limit is not within `0 ..= 32 000 000`, or the window not within
    /// one microsecond to 366 days.
    pub fn new(limit: i64, window: Number) -> Result<Self, LimitError> {
        Ok(Self {
            limit: LimitError::check_size(Argument::Limit, limit)?,
            length: LimitError::check_length(Argument::Window, window)?,
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
        window::decide(self.limit, state, now.after(self.length), now, ask)
    }

    fn give_back(&self, state: Window, now: Micros, cost: u64, taken_at: Micros) -> Option<Window> {
        let began = state.ends_at.since(self.length);
        (taken_at >= began)
            .then(|| window::give_back(state, now, cost))
            .flatten()
    }
}
