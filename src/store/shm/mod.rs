//! This host's shared memory: one mapping that exists before the workers fork.
//!
//! Nothing here waits. A decision is one load, one pure function and at most
//! one 128-bit compare-and-swap; a worker killed anywhere holds nothing.

mod boot_clock;
pub(super) mod circuits;
mod layout;
pub(super) mod leases;
mod mapping;
pub(super) mod near;
mod permits;
mod reach;
mod slot;
mod table;
mod windows;
mod worker;

pub use boot_clock::BootClock;
pub use layout::{MAX_SIZE, MIN_SIZE};
pub use mapping::{Mapping, MappingError};
pub use table::{Place, Table, TableStatus};

use std::sync::Arc;

use self::permits::NoRoom;
use self::windows::NoDesk;
use super::clock::Clock;
use super::composite;
use super::{Answer, Fault, Held, Question, Source, Status, Store};
use crate::limit::{
    Ask, Cells, Concurrency, Decision, Fraction, Key, Kind, Limit, Micros, Mode, State,
};

/// The store on a shared table, by default under the kernel's BOOTTIME clock.
#[derive(Clone, Debug)]
pub struct SharedMemory<C = BootClock> {
    table: Arc<Table>,
    /// Sets the states of one application apart from those of others.
    realm: u64,
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
        let realm = 0;
        Self {
            table,
            realm,
            clock,
        }
    }

    /// The same, apart from all that goes by another prefix: several
    /// applications may have one table.
    #[must_use]
    pub fn with_prefix(self, prefix: &[u8]) -> Self {
        let realm = self.table.realm(prefix);
        Self { realm, ..self }
    }

    #[inline(always)]
    fn place(&self, key: Key<'_>, limit: &Limit) -> Place {
        self.table.place_in(self.realm, key, limit.identity())
    }

    /// The table.
    #[inline(always)]
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// The time of the table.
    #[inline(always)]
    pub(super) fn now(&self) -> Micros {
        self.clock.now().since(self.table.mapping.made_at())
    }

    fn decide_concurrency(
        &self,
        place: Place,
        limit: &Concurrency,
        ask: Ask,
    ) -> Result<Answer, Fault> {
        let mapping = &self.table.mapping;
        let max = u64::from(limit.max());
        let taken = match ask {
            Ask {
                cost: 1,
                mode: Mode::Take,
            } => mapping.acquire(place, limit.max())?,
            // A look, or more at once than one call can have.
            _ => permits::Taken {
                in_use: mapping.in_use(place, limit.max()),
                permit: None,
            },
        };
        let in_use = u64::from(taken.in_use);
        let allowed = taken.permit.is_some()
            || (ask.mode != Mode::Take || ask.cost != 1) && in_use + ask.cost.min(max + 1) <= max;
        Ok(Answer {
            decision: Decision {
                allowed,
                limit: limit.max(),
                remaining: limit.max().saturating_sub(taken.in_use),
                retry_after: composite::retry_of_permits(allowed, ask.cost, max),
                reset_after: Micros::ZERO,
                delay: Micros::ZERO,
            },
            source: Source::SharedMemory,
            at: self.now(),
            permit: taken.permit,
        })
    }
}

/// A state that another store knew, and how it is to be read here.
pub(super) struct Known<'a> {
    /// The state, by the other store's time.
    pub state: &'a Cells,
    /// A moment of that time, and the same by the table's.
    pub there: Micros,
    /// See `there`.
    pub here: Micros,
    /// The part of what was spent that counts here.
    pub share: Fraction,
}

impl Known<'_> {
    fn state_of<K: Kind>(&self, kind: &K) -> Option<K::State> {
        let state = K::State::of_cells(self.state.cells())?;
        Some(kind.adopted(state, self.there, self.here, self.share))
    }
}

impl<C: Clock> SharedMemory<C> {
    /// Counts as spent what another store knew to be spent of a key, where that
    /// is more than is known here.
    ///
    /// # Errors
    /// Where there is no room for another sliding window.
    pub(super) fn adopt(
        &self,
        key: Key<'_>,
        limit: &Limit,
        known: &Known<'_>,
    ) -> Result<(), Fault> {
        let place = self.place(key, limit);
        let now = || self.now();
        let table = &self.table;
        match limit {
            Limit::TokenBucket(kind) => table.raise(place, now, now, kind, known.state_of(kind)),
            Limit::FixedWindow(kind) => table.raise(place, now, now, kind, known.state_of(kind)),
            Limit::LeakyBucket(kind) => table.raise(place, now, now, kind, known.state_of(kind)),
            Limit::Quota(kind) => {
                let unix = || self.clock.unix();
                table.raise(place, unix, now, kind, known.state_of(kind));
            }
            Limit::SlidingWindow(kind) => {
                let cells = known.state_of(kind);
                table
                    .mapping
                    .raise_window(place, now, kind, cells.as_ref())?;
            }
            Limit::Concurrency(_) | Limit::None | Limit::Deny => {}
        }
        Ok(())
    }
}

impl<C: Clock> Store for SharedMemory<C> {
    #[inline(always)]
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        let Question {
            key, limit, ask, ..
        } = *question;
        let place = self.place(key, limit);
        let now = || self.now();
        let (decision, at) = match limit {
            Limit::TokenBucket(kind) => self.table.decide(place, now, now, kind, ask),
            Limit::FixedWindow(kind) => self.table.decide(place, now, now, kind, ask),
            Limit::LeakyBucket(kind) => self.table.decide(place, now, now, kind, ask),
            Limit::Quota(kind) => {
                let unix = || self.clock.unix();
                self.table.decide(place, unix, now, kind, ask)
            }
            Limit::SlidingWindow(kind) => {
                self.table.mapping.decide_window(place, now, kind, ask)?
            }
            Limit::Concurrency(kind) => return self.decide_concurrency(place, kind, ask),
            Limit::None | Limit::Deny => {
                let answer = composite::stateless(question, Source::SharedMemory);
                return answer.ok_or_else(|| Fault::new("a limit without a kind"));
            }
        };
        Ok(Answer {
            decision,
            source: Source::SharedMemory,
            at,
            permit: None,
        })
    }

    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
        composite::decide_all(self, questions)
    }

    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault> {
        let Question {
            key, limit, ask, ..
        } = *question;
        let place = self.place(key, limit);
        let now = || self.now();
        let (cost, at) = (ask.cost, taken.at);
        match limit {
            Limit::TokenBucket(kind) => self.table.refund(place, now, kind, cost, at),
            Limit::FixedWindow(kind) => self.table.refund(place, now, kind, cost, at),
            Limit::LeakyBucket(kind) => self.table.refund(place, now, kind, cost, at),
            Limit::Quota(kind) => {
                let unix = || self.clock.unix();
                self.table.refund(place, unix, kind, cost, at);
            }
            Limit::SlidingWindow(kind) => {
                self.table
                    .mapping
                    .refund_window(place, now, kind, cost, at)?;
            }
            Limit::Concurrency(_) => {
                if let Some(permit) = taken.permit {
                    self.table.mapping.release(permit);
                }
            }
            Limit::None | Limit::Deny => {}
        }
        Ok(())
    }

    fn release(&self, _: &Question<'_>, held: Held) -> Result<bool, Fault> {
        Ok(self.table.mapping.release(held.permit))
    }

    /// A permit here lasts as long as its worker; there is nothing to renew.
    fn renew(&self, _: &Question<'_>, held: Held) -> Result<bool, Fault> {
        Ok(self.table.mapping.holds(held.permit))
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        let place = self.place(key, limit);
        match limit {
            Limit::SlidingWindow(_) => self.table.mapping.forget_window(place),
            Limit::Concurrency(_) => self.table.mapping.forget_permits(place),
            _ => self.table.forget(place),
        }
        Ok(())
    }

    fn status(&self) -> Status {
        Status {
            shared_memory: Some(self.table.status(self.now())),
            ..Status::default()
        }
    }
}

const NO_DESK: &str = "shared memory has no room for another worker; raise sluice.shm_size";

impl From<NoDesk> for Fault {
    fn from(_: NoDesk) -> Self {
        Self::new(NO_DESK)
    }
}

impl From<NoRoom> for Fault {
    fn from(no_room: NoRoom) -> Self {
        Self::new(match no_room {
            NoRoom::Desks => NO_DESK,
            NoRoom::Blocks => {
                "shared memory has no room for permits of another key; raise sluice.shm_size"
            }
        })
    }
}
