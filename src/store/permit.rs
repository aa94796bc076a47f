//! A held slot of a concurrency limit, by a name that nobody else has.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

/// What a store gives out for a slot, and takes back. Opaque: on Redis the
/// member of a set, in shared memory a cell and what stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Permit(pub u128);

impl Permit {
    /// A name that is not given twice: random bits and the time of the boot
    /// from this process, and a counter.
    pub fn new() -> Self {
        thread_local! {
            static LAST: Cell<u64> = const { Cell::new(0) };
        }
        let count = LAST.get() + 1;
        LAST.set(count);
        // Keys from the system once a thread; a forked child has its own pid.
        let random = RandomState::new().hash_one((std::process::id(), count));
        Self(u128::from(random) << 64 | u128::from(count))
    }

    /// The name as it stands in Redis.
    pub fn name(self) -> String {
        format!("{:032x}", self.0)
    }
}

impl Default for Permit {
    fn default() -> Self {
        Self::new()
    }
}
