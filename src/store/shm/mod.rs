//! This host's shared memory: one mapping that exists before the workers fork.
//!
//! Nothing here waits. A decision is one load, one pure function and at most
//! one 128-bit compare-and-swap; a worker killed anywhere holds nothing.

mod boot_clock;
mod mapping;
mod slot;
mod table;

pub use boot_clock::BootClock;
pub use mapping::{MAX_SIZE, MIN_SIZE, Mapping, MappingError};
pub use table::{Table, TableStatus};

use std::sync::Arc;

use super::clock::Clock;
use super::{Answer, Fault, Question, Source, Status, Store};
use crate::limit::{Key, Limit};

/// The store on a shared table, by default under the kernel's BOOTTIME clock.
#[derive(Clone, Debug)]
pub struct SharedMemory<C = BootClock> {
    table: Arc<Table>,
    clock: C,
}

impl SharedMemory<BootClock> {
    /// The store on this table.
    pub fn new(table: Arc<Table>) -> Self {
        Self::with_clock(table, BootClock)
    }
}

impl<C: Clock> SharedMemory<C> {
    /// The store on this table, with time injected.
    pub fn with_clock(table: Arc<Table>, clock: C) -> Self {
        Self { table, clock }
    }
}

impl<C: Clock> Store for SharedMemory<C> {
    #[inline(always)]
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        let Question {
            key, limit, ask, ..
        } = *question;
        let place = self.table.place(key, limit.identity());
        let decision = match limit {
            Limit::TokenBucket(kind) => self.table.decide(place, &self.clock, kind, ask),
            Limit::FixedWindow(kind) => self.table.decide(place, &self.clock, kind, ask),
        };
        Ok(Answer {
            decision,
            source: Source::SharedMemory,
        })
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        self.table.forget(self.table.place(key, limit.identity()));
        Ok(())
    }

    fn status(&self) -> Status {
        Status {
            shared_memory: Some(self.table.status(&self.clock)),
            ..Status::default()
        }
    }
}
