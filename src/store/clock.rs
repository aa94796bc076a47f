//! The seam through which stores read time, and the clocks of tests.

use std::cell::Cell;

use super::unix_now;
use crate::limit::Micros;

/// A clock that a store reads after it has loaded a state.
pub trait Clock {
    /// The time now, by a clock that only this store's states are held against.
    fn now(&self) -> Micros;

    /// Unix time, for the boundaries of the calendar.
    fn unix(&self) -> Micros {
        unix_now()
    }
}

/// A clock that stands still until it is told to move, either way.
#[derive(Debug, Default)]
pub struct ManualClock(Cell<Micros>);

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: Micros) -> Self {
        Self(Cell::new(now))
    }

    /// Shows another time.
    pub fn set(&self, now: Micros) {
        self.0.set(now);
    }

    /// Moves on.
    pub fn advance(&self, by: Micros) {
        self.0.set(self.0.get().after(by));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Micros {
        self.0.get()
    }

    fn unix(&self) -> Micros {
        self.now()
    }
}

impl<C: Clock> Clock for &C {
    fn now(&self) -> Micros {
        (*self).now()
    }

    fn unix(&self) -> Micros {
        (*self).unix()
    }
}

impl<C: Clock> Clock for std::rc::Rc<C> {
    fn now(&self) -> Micros {
        (**self).now()
    }

    fn unix(&self) -> Micros {
        (**self).unix()
    }
}
