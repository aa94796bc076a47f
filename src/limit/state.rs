//! What every state is made of: instants, and tokens that go with each.

use super::{Bucket, Cell, Cells, Window};

/// A state as it travels: between Redis and a host's memory all kinds look
/// alike.
pub trait State: Copy {
    /// The state that these cells say; `None` where they say none.
    fn of_cells(cells: impl IntoIterator<Item = Cell>) -> Option<Self>;

    /// The cells that say this state.
    fn cells(&self) -> impl Iterator<Item = Cell>;
}

/// One cell: the instant at which nothing was owed, and what was taken since.
impl State for Bucket {
    #[inline(always)]
    fn of_cells(cells: impl IntoIterator<Item = Cell>) -> Option<Self> {
        let cell = cells.into_iter().next()?;
        Some(Self {
            full_at: cell.last,
            taken: cell.taken,
        })
    }

    #[inline(always)]
    fn cells(&self) -> impl Iterator<Item = Cell> {
        std::iter::once(Cell {
            last: self.full_at,
            taken: self.taken,
        })
    }
}

/// One cell: the end of the window, and what was taken in it.
impl State for Window {
    #[inline(always)]
    fn of_cells(cells: impl IntoIterator<Item = Cell>) -> Option<Self> {
        let cell = cells.into_iter().next()?;
        Some(Self {
            ends_at: cell.last,
            taken: cell.taken,
        })
    }

    #[inline(always)]
    fn cells(&self) -> impl Iterator<Item = Cell> {
        std::iter::once(Cell {
            last: self.ends_at,
            taken: self.taken,
        })
    }
}

impl State for Cells {
    fn of_cells(cells: impl IntoIterator<Item = Cell>) -> Option<Self> {
        Some(Self::of(cells)).filter(|cells| !cells.is_empty())
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.as_slice().iter().copied()
    }
}
