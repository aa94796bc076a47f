//! This host's memory of one Redis: where the states of its keys are kept.

use crate::limit::{Key, Limit, Micros};
use crate::store::Question;
use crate::store::clock::Clock;
use crate::store::shm::{Mapping, Place, SharedMemory};

/// The shared memory, and the part of it that belongs to one Redis.
pub struct Host<C> {
    memory: SharedMemory<C>,
    /// Tells this Redis' keys from those of others, and from the host's own.
    realm: u64,
}

/// Where what is known of a key is, and when it was asked about.
#[derive(Clone, Copy)]
pub struct Spot {
    pub place: Place,
    pub now: Micros,
}

impl<C: Clock> Host<C> {
    /// The part of `memory` for the Redis of this name.
    pub fn new(memory: SharedMemory<C>, name: &[u8]) -> Self {
        let realm = memory.table().realm(name);
        Self { memory, realm }
    }

    pub fn memory(&self) -> &SharedMemory<C> {
        &self.memory
    }

    #[inline(always)]
    pub fn mapping(&self) -> &Mapping {
        &self.memory.table().mapping
    }

    /// The table's time.
    #[inline(always)]
    pub fn now(&self) -> Micros {
        self.memory.now()
    }

    /// Where a question's key is, now.
    #[inline(always)]
    pub fn spot(&self, question: &Question<'_>) -> Spot {
        self.spot_of(question.key, question.limit)
    }

    /// See [`spot`](Self::spot).
    #[inline(always)]
    pub fn spot_of(&self, key: Key<'_>, limit: &Limit) -> Spot {
        let place = self
            .memory
            .table()
            .place_in(self.realm, key, limit.identity());
        Spot {
            place,
            now: self.now(),
        }
    }
}
