//! Sliding window: sixteen cells that leave with their last hit.
//!
//! Time is cut into cells of a sixteenth of the window. A cell holds its count
//! and the time of its last hit, and leaves when that hit leaves. So the sum of
//! the cells is never less than a full log of hits would count: no interval of
//! the window's length ever sees more than the limit. Plain sub-windows, whose
//! counts leave at the end of their cell, refuse a burst that returns a second
//! after the window; with sixteen cells a steady caller at nine tenths of the
//! limit is never refused, with eight some are.

use super::error::{Argument, LimitError};
use super::{Ask, Decision, Fraction, Kind, MAX_TAKEN, Micros, Number, Outcome};

/// Cells per window.
const CELLS: u64 = 16;
/// Cells that can be alive at once: an old one may overlap the newest.
pub const MOST_CELLS: usize = 17;

/// So many in any interval of the window's length.
///
/// ```
/// use sluice::limit::{Ask, Kind, Micros, Number, SlidingWindow};
///
/// let window = SlidingWindow::new(1, Number::Int(60))?;
/// let first = window.decide(None, Micros(30_000_000), Ask::take(1));
/// let second = window.decide(first.write, Micros(89_999_999), Ask::take(1));
/// assert_eq!(second.decision.retry_after, Some(Micros(1)));
/// # Ok::<(), sluice::limit::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingWindow {
    limit: u32,
    length: Micros,
}

/// One cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The time of the cell's last hit.
    pub last: Micros,
    /// Tokens taken in it.
    pub taken: u32,
}

/// What is remembered of a window: its cells, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    cells: [Cell; MOST_CELLS],
    count: usize,
}

impl Cells {
    /// No cells.
    pub const NONE: Self = Self {
        cells: [Cell {
            last: Micros::ZERO,
            taken: 0,
        }; MOST_CELLS],
        count: 0,
    };

    /// The cells given, oldest first; those past [`MOST_CELLS`] are left out.
    pub fn of(cells: impl IntoIterator<Item = Cell>) -> Self {
        let mut all = Self::NONE;
        for cell in cells.into_iter().take(MOST_CELLS) {
            all.cells[all.count] = cell;
            all.count += 1;
        }
        all
    }

    /// The cells, oldest first.
    pub fn as_slice(&self) -> &[Cell] {
        &self.cells[..self.count]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn sum(&self) -> u64 {
        self.as_slice()
            .iter()
            .map(|cell| u64::from(cell.taken))
            .sum()
    }

    fn last_mut(&mut self) -> Option<&mut Cell> {
        self.cells[..self.count].last_mut()
    }
}

impl SlidingWindow {
    /// At most `limit` in any `window` seconds.
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

    /// The most that any window admits.
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
            ..*self
        }
    }

    /// The cells that are still in the window, with those from the future
    /// pulled back to now; and whether there were any.
    fn live(&self, state: Option<&Cells>, now: Micros) -> (Cells, bool) {
        let mut repaired = false;
        let state = state.map_or(&[][..], Cells::as_slice);
        let live = state.iter().map(|cell| {
            repaired |= cell.last > now;
            Cell {
                last: cell.last.min(now),
                ..*cell
            }
        });
        let cells = Cells::of(live.filter(|cell| cell.last.after(self.length) > now));
        (cells, repaired)
    }

    /// Which sixteenth of a window a time lies in, counted from the clock's 0.
    fn cell_of(&self, time: Micros) -> u64 {
        time.0 / self.cell_length()
    }

    /// The length of a cell in microseconds. Rounded up, so that no more than
    /// [`MOST_CELLS`] reach into one window.
    pub fn cell_length(&self) -> u64 {
        self.length.0.div_ceil(CELLS)
    }

    fn add(&self, cells: &mut Cells, now: Micros, cost: u64) {
        let most = u64::from(MAX_TAKEN).saturating_sub(cells.sum());
        let cost = cost.min(most) as u32;
        if cost == 0 {
            return;
        }
        let here = self.cell_of(now);
        // After a clock's step back more than one cell may be pulled to now;
        // the newest then takes the hit, which only keeps it longer.
        let full = cells.count == MOST_CELLS;
        match cells.last_mut() {
            Some(last) if full || self.cell_of(last.last) == here => {
                last.taken += cost;
                last.last = now;
            }
            _ => {
                cells.cells[cells.count] = Cell {
                    last: now,
                    taken: cost,
                };
                cells.count += 1;
            }
        }
    }

    /// Time until `cost` fits: when the first cell has left that frees enough.
    fn until_fits(&self, cells: &Cells, now: Micros, cost: u64) -> Micros {
        let mut over = (cells.sum() + cost).saturating_sub(u64::from(self.limit));
        for cell in cells.as_slice() {
            over = over.saturating_sub(u64::from(cell.taken));
            if over == 0 {
                return cell.last.after(self.length).since(now);
            }
        }
        Micros::ZERO
    }
}

impl Kind for SlidingWindow {
    type State = Cells;

    fn decide(&self, state: Option<Cells>, now: Micros, ask: Ask) -> Outcome<Cells> {
        if self.limit == 0 {
            return Outcome::of_nothing(ask);
        }
        let (mut cells, repaired) = self.live(state.as_ref(), now);
        let fits = cells.sum().saturating_add(ask.cost) <= u64::from(self.limit);
        let taken = ask.takes(fits);
        if taken {
            self.add(&mut cells, now, ask.cost);
        }
        let write = taken || (repaired && ask.repairs(fits));
        let retry_after = if fits {
            Some(Micros::ZERO)
        } else if ask.cost > u64::from(self.limit) {
            None
        } else {
            Some(self.until_fits(&cells, now, ask.cost))
        };
        let reset_after = cells.as_slice().last().map_or(Micros::ZERO, |newest| {
            newest.last.after(self.length).since(now)
        });
        Outcome {
            decision: Decision {
                allowed: fits,
                limit: self.limit,
                remaining: (u64::from(self.limit).saturating_sub(cells.sum())) as u32,
                retry_after,
                reset_after,
                delay: Micros::ZERO,
            },
            write: write.then_some(cells),
        }
    }

    /// Gives back to the cell in which it was taken, if that is still there.
    fn give_back(&self, state: Cells, now: Micros, cost: u64, taken_at: Micros) -> Option<Cells> {
        let (mut cells, _) = self.live(Some(&state), now);
        let count = cells.count;
        let there = self.cell_of(taken_at);
        let cell = cells.cells[..count]
            .iter_mut()
            .find(|cell| self.cell_of(cell.last) == there)?;
        cell.taken = u64::from(cell.taken).saturating_sub(cost) as u32;
        Some(Cells::of(
            cells
                .as_slice()
                .iter()
                .copied()
                .filter(|cell| cell.taken > 0),
        ))
    }

    fn spent(&self, state: Cells, now: Micros) -> u64 {
        self.live(Some(&state), now).0.sum()
    }

    /// The sum is rounded up, and not each cell.
    fn adopted(&self, state: Cells, from: Micros, to: Micros, share: Fraction) -> Cells {
        let (mut sum, mut shared) = (0_u32, 0);
        Cells::of(state.as_slice().iter().map(|cell| {
            sum = sum.saturating_add(cell.taken);
            let before = std::mem::replace(&mut shared, share.scale_up(sum));
            Cell {
                last: cell.last.moved(from, to),
                taken: shared - before,
            }
        }))
    }
}
