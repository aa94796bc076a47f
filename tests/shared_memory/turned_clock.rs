//! A clock that all threads of a test read and one of them turns.

use std::sync::atomic::{AtomicU64, Ordering};

use sluice::limit::Micros;
use sluice::store::clock::Clock;

/// Shared by reference: a reference to a clock is a clock.
#[derive(Debug, Default)]
pub struct TurnedClock {
    time: AtomicU64,
    tick: u64,
}

impl TurnedClock {
    /// A clock that moves on by a microsecond whenever it is read.
    pub fn ticking() -> Self {
        Self {
            tick: 1,
            ..Self::default()
        }
    }

    /// Turns it on.
    pub fn advance(&self, by: u64) {
        self.time.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for TurnedClock {
    fn now(&self) -> Micros {
        Micros(self.time.fetch_add(self.tick, Ordering::SeqCst))
    }
}
