//! The breaker: while Redis is away, nobody waits to find it out again.
//!
//! Its whole state is one word that all workers of a host share, `[faults 16 |
//! next probe 48]`, changed by compare-and-swap. After [`OPENS_AFTER`] faults in
//! a row, whoever met them, it is open: callers are turned away, but for one at
//! each probe interval, whose call shows whether Redis is back. A worker that is
//! killed while it probes has put the next probe off by one interval and no
//! more. Any answer of Redis closes it.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::limit::Micros;
use crate::store::shm::Table;
use crate::store::shm::circuits::Circuit;

/// Faults in a row that open it.
pub const OPENS_AFTER: u16 = 5;

/// From one probe to the next: at first, and at most. It doubles in between.
const FIRST_INTERVAL: Micros = Micros(1_000_000);
const DOUBLINGS: u16 = 2;

const PROBE_BITS: u32 = 48;

/// The breaker of one server, as one worker holds it.
pub struct Breaker {
    /// Where it is in shared memory.
    shared: Option<(Arc<Table>, usize)>,
    /// What stands in for it where there is none: this worker's own.
    own: Circuit,
}

/// Leave to make a call, whose end has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// As usual.
    Closed,
    /// To see whether the server is back.
    Probe,
}

/// How a breaker does, or all those of a DSN do, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BreakerStatus {
    /// Whether callers are turned away.
    pub open: bool,
    /// Faults in a row.
    pub faults: u16,
    /// How often it has opened.
    pub opened: u64,
    /// When it is open, the time until someone may see whether the server is
    /// back.
    pub probe_in: Option<Micros>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    const CLOSED: Self = Self(0);

    fn new(faults: u16, next_probe: Micros) -> Self {
        Self(u64::from(faults) << PROBE_BITS | next_probe.0 & ((1 << PROBE_BITS) - 1))
    }

    fn faults(self) -> u16 {
        (self.0 >> PROBE_BITS) as u16
    }

    fn next_probe(self) -> Micros {
        Micros(self.0 & ((1 << PROBE_BITS) - 1))
    }

    fn is_open(self) -> bool {
        self.faults() >= OPENS_AFTER
    }

    /// Open, after so many faults in a row, as of `now`.
    fn open(faults: u16, now: Micros) -> Self {
        let doublings = (faults - OPENS_AFTER).min(DOUBLINGS);
        let interval = Micros(FIRST_INTERVAL.0 << doublings);
        Self::new(OPENS_AFTER + doublings, now.after(interval))
    }

    /// The time until the next probe. One that is further off than the longest
    /// interval was not put there by us, and is due.
    fn until_probe(self, now: Micros) -> Micros {
        let left = self.next_probe().since(now);
        if left.0 > FIRST_INTERVAL.0 << DOUBLINGS {
            Micros::ZERO
        } else {
            left
        }
    }
}

impl Breaker {
    /// The breaker of the server of this name behind the DSN `group`: the one
    /// that all who share the table have, or one of this worker's own.
    pub fn new(table: Option<&Arc<Table>>, group: &[u8], name: &[u8]) -> Self {
        let shared = table.and_then(|table| {
            let (name, group) = (table.realm(name), table.realm(group));
            let index = table.mapping.circuit_of(name, group)?;
            Some((Arc::clone(table), index))
        });
        Self {
            shared,
            own: Circuit::default(),
        }
    }

    /// Its state, where it is kept.
    pub fn circuit(&self) -> &Circuit {
        match &self.shared {
            Some((table, index)) => table.mapping.circuit(*index),
            None => &self.own,
        }
    }

    /// Whether all workers of this host have it.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    fn word(&self) -> Word {
        Word(self.circuit().word.load(Acquire))
    }

    fn swap(&self, old: Word, new: Word) -> bool {
        let word = &self.circuit().word;
        word.compare_exchange(old.0, new.0, AcqRel, Relaxed).is_ok()
    }

    /// Leave for a call at `now`; `None` while the breaker is open.
    pub fn enter(&self, now: Micros) -> Option<Pass> {
        let word = self.word();
        if !word.is_open() {
            return Some(Pass::Closed);
        }
        let is_due = word.until_probe(now) == Micros::ZERO;
        // Whoever puts the next probe off is the one who makes this one.
        (is_due && self.swap(word, Word::open(word.faults(), now))).then_some(Pass::Probe)
    }

    /// The server has answered.
    pub fn succeeded(&self) {
        if self.word() != Word::CLOSED {
            self.circuit().word.store(Word::CLOSED.0, Relaxed);
        }
    }

    /// The server has not answered.
    pub fn failed(&self, pass: Pass, now: Micros) {
        loop {
            let word = self.word();
            if word.is_open() && pass == Pass::Closed {
                // A call that was under way when it opened tells nothing new.
                return;
            }
            let faults = word.faults().saturating_add(1);
            let next = if faults < OPENS_AFTER {
                Word::new(faults, Micros::ZERO)
            } else {
                Word::open(faults, now)
            };
            if self.swap(word, next) {
                if next.is_open() && !word.is_open() {
                    self.circuit().opened.fetch_add(1, Relaxed);
                }
                return;
            }
        }
    }
}

impl BreakerStatus {
    /// How a breaker does.
    pub(in crate::store) fn of(circuit: &Circuit, now: Micros) -> Self {
        let word = Word(circuit.word.load(Acquire));
        Self {
            open: word.is_open(),
            faults: word.faults(),
            opened: circuit.opened.load(Relaxed),
            probe_in: word.is_open().then(|| word.until_probe(now)),
        }
    }

    /// Both as one: what either turns away, and who probes first.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let probes = [self.probe_in, other.probe_in];
        Self {
            open: self.open || other.open,
            faults: self.faults.max(other.faults),
            opened: self.opened.saturating_add(other.opened),
            probe_in: probes.into_iter().flatten().min(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::shm::Mapping;

    const NOW: Micros = Micros(1_000_000_000);

    fn fail(breaker: &Breaker, times: u16, now: Micros) {
        for _ in 0..times {
            let pass = breaker.enter(now).expect("it is not open yet");
            breaker.failed(pass, now);
        }
    }

    fn status(breaker: &Breaker, now: Micros) -> BreakerStatus {
        BreakerStatus::of(breaker.circuit(), now)
    }

    fn table() -> Arc<Table> {
        Arc::new(Table::new(
            Mapping::anonymous(1 << 16, Micros::ZERO).unwrap(),
        ))
    }

    #[test]
    fn opens_after_faults_in_a_row_whoever_met_them() {
        let table = table();
        let workers = [(); 2].map(|()| Breaker::new(Some(&table), b"", b"redis://a"));
        let other = Breaker::new(Some(&table), b"", b"redis://b");
        fail(&workers[0], OPENS_AFTER - 1, NOW);
        workers[1].succeeded();
        fail(&workers[0], OPENS_AFTER - 2, NOW);
        fail(&workers[1], 2, NOW);
        for worker in &workers {
            assert_eq!(worker.enter(NOW), None);
        }
        assert_eq!(other.enter(NOW), Some(Pass::Closed));
        assert_eq!(status(&workers[0], NOW).opened, 1);
    }

    #[test]
    fn one_probes_at_a_time_and_less_often_each_time() {
        let table = table();
        let workers = [(); 8].map(|()| Breaker::new(Some(&table), b"", b"redis://a"));
        fail(&workers[0], OPENS_AFTER, NOW);
        let mut now = NOW;
        for seconds in [1, 2, 4, 4] {
            let due = now.after(Micros(seconds * 1_000_000));
            let early = due.since(Micros(1));
            assert!(workers.iter().all(|worker| worker.enter(early).is_none()));
            let passes: Vec<_> = workers
                .iter()
                .filter_map(|worker| worker.enter(due))
                .collect();
            assert_eq!(passes, [Pass::Probe]);
            workers[3].failed(Pass::Probe, due);
            now = due;
        }
        let due = now.after(Micros(4_000_000));
        assert_eq!(workers[5].enter(due), Some(Pass::Probe));
        workers[5].succeeded();
        assert!(
            workers
                .iter()
                .all(|worker| worker.enter(due) == Some(Pass::Closed))
        );
        assert_eq!(status(&workers[0], due).faults, 0);
    }

    #[test]
    fn a_probe_that_never_ends_is_followed_by_another() {
        let breaker = Breaker::new(None, b"", b"");
        fail(&breaker, OPENS_AFTER, NOW);
        let due = NOW.after(FIRST_INTERVAL);
        assert_eq!(breaker.enter(due), Some(Pass::Probe));
        // Its worker is killed.
        assert_eq!(breaker.enter(due), None);
        assert_eq!(breaker.enter(due.after(FIRST_INTERVAL)), Some(Pass::Probe));
    }

    #[test]
    fn calls_that_were_under_way_do_not_put_the_probe_off() {
        let breaker = Breaker::new(None, b"", b"");
        let late = breaker.enter(NOW).unwrap();
        fail(&breaker, OPENS_AFTER, NOW);
        let due = NOW.after(FIRST_INTERVAL);
        breaker.failed(late, due.since(Micros(1)));
        assert_eq!(breaker.enter(due), Some(Pass::Probe));
    }

    #[test]
    fn a_word_from_elsewhere_blocks_nobody() {
        let breaker = Breaker::new(None, b"", b"");
        breaker.own.word.store(u64::MAX, Relaxed);
        assert_eq!(breaker.enter(NOW), Some(Pass::Probe));
        assert_eq!(breaker.enter(NOW), None);
    }
}
