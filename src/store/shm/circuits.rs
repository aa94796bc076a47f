//! What all workers of a host know of a server: whether it answers.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use super::mapping::Mapping;

/// The state of one breaker. What it means is the breaker's business.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(in crate::store) struct Circuit {
    /// A hash of the server's name; 0 where it is nobody's yet.
    name: AtomicU64,
    /// What it shares with those of other servers behind one DSN.
    group: AtomicU64,
    /// The state, changed by compare-and-swap.
    pub word: AtomicU64,
    /// How often it has opened.
    pub opened: AtomicU64,
}

impl Mapping {
    /// The number of the circuit of this name, which belongs to `group`; `None`
    /// if there are too many.
    pub(in crate::store) fn circuit_of(&self, name: u64, group: u64) -> Option<usize> {
        let name = name.max(1);
        let circuits = self.circuits();
        let home = name as usize % circuits.len();
        let found = (0..circuits.len())
            .map(|step| (home + step) % circuits.len())
            .find(|index| {
                let there = &circuits[*index].name;
                let found = there.compare_exchange(0, name, AcqRel, Acquire);
                found.is_ok() || found == Err(name)
            })?;
        circuits[found].group.store(group, Release);
        Some(found)
    }

    /// The circuits of a group.
    pub(in crate::store) fn circuits_of(&self, group: u64) -> impl Iterator<Item = &Circuit> {
        let circuits = self.circuits().iter();
        circuits.filter(move |circuit| circuit.group.load(Acquire) == group)
    }

    pub(in crate::store) fn circuit(&self, index: usize) -> &Circuit {
        &self.circuits()[index]
    }
}
