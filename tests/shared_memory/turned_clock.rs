//! A clock that all threads of a test read and one of them turns.

use std::sync::atomic::{AtomicU64, Ordering};

use sluice::limit::Micros;
use sluice::store::clock::Clock;

/// Shared by reference: a reference to a clock is a clock.
#[derive(Debug, Default)]
pub struct TurnedClock(AtomicU64);

impl TurnedClock {
    /// Turns it on.
    pub fn advance(&self, by: u64) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for TurnedClock {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }
}
