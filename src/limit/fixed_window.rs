//! Fixed window: starts with the first admitted request, ends on its own.
//!
//! The state holds its own end. A counter with a TTL (INCR, then EXPIRE) takes
//! the end from the key's clock instead, and blocks for ever where a process
//! dies between the two.

use super::error::{Argument, LimitError};
use super::window::{self, Window};
use super::{Ask, Fraction, Kind, MAX_PERIOD, Micros, Number, Outcome};

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
    as_opened: bool,
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
            as_opened: false,
        })
    }

    /// The same with a window that keeps the length it was opened with: then
    /// all lengths are one count, and another one applies from the next window
    /// on. For callers that know the length only where they count.
    ///
    /// ```
    /// use sluice::limit::{Ask, FixedWindow, Kind, Micros, Number};
    ///
    /// let minute = FixedWindow::new(2, Number::Int(60))?.as_opened();
    /// let hour = FixedWindow::new(2, Number::Int(3600))?.as_opened();
    /// let first = minute.decide(None, Micros(0), Ask::take(2));
    /// let second = hour.decide(first.write, Micros(59_999_999), Ask::take(1));
    /// assert_eq!(second.decision.retry_after, Some(Micros(1)));
    /// # Ok::<(), sluice::limit::LimitError>(())
    /// ```
    #[must_use]
    pub fn as_opened(&self) -> Self {
        Self {
            as_opened: true,
            ..*self
        }
    }

    /// The most that one window admits.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The window's length; of the next one where it is kept as opened.
    pub fn length(&self) -> Micros {
        self.length
    }

    /// The length that tells this window from others; `None` where it is kept
    /// as opened.
    pub fn own_length(&self) -> Option<Micros> {
        (!self.as_opened).then_some(self.length)
    }

    #[must_use]
    pub(super) fn scaled(&self, factor: Fraction) -> Self {
        Self {
            limit: factor.scale_up(self.limit),
            ..*self
        }
    }
}

impl Kind for FixedWindow {
    type State = Window;

    #[inline(always)]
    fn decide(&self, state: Option<Window>, now: Micros, ask: Ask) -> Outcome<Window> {
        let end = match state {
            Some(open) if self.as_opened && now < open.ends_at => {
                open.ends_at.min(now.after(MAX_PERIOD))
            }
            _ => now.after(self.length),
        };
        window::decide(self.limit, state, end, now, ask)
    }

    fn give_back(&self, state: Window, now: Micros, cost: u64, taken_at: Micros) -> Option<Window> {
        let began = state.ends_at.since(self.length);
        (taken_at >= began)
            .then(|| window::give_back(state, now, cost))
            .flatten()
    }

    fn spent(&self, state: Window, now: Micros) -> u64 {
        window::spent(state, now)
    }

    fn adopted(&self, state: Window, from: Micros, to: Micros, share: Fraction) -> Window {
        let ends_at = state.ends_at.moved(from, to);
        window::shared(Window { ends_at, ..state }, share)
    }
}
