//! Workers that meet a new key at once give it one slot: of a limit of one,
//! exactly one of them gets the token.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier};

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::Store;
use sluice::store::shm::{Mapping, SharedMemory, Table, TableStatus};

use crate::support::limits::{DAY, question, short_window, slow_bucket, window};
use crate::turned_clock::TurnedClock;

const RACERS: usize = 3;

struct Race {
    table: Arc<Table>,
    clock: TurnedClock,
    /// How often each key of the round was admitted.
    admitted: Vec<AtomicU32>,
    /// Keys that were admitted more than once, and not at all.
    twice: AtomicU32,
    never: AtomicU32,
    meeting: Barrier,
    over: AtomicBool,
}

impl Race {
    fn new(table_size: usize, keys_in_a_round: usize) -> Self {
        let mapping = Mapping::anonymous(table_size, Micros::ZERO).expect("a mapping");
        Self {
            table: Arc::new(Table::new(mapping)),
            clock: TurnedClock::default(),
            admitted: (0..keys_in_a_round).map(|_| AtomicU32::new(0)).collect(),
            twice: AtomicU32::new(0),
            never: AtomicU32::new(0),
            meeting: Barrier::new(RACERS),
            over: AtomicBool::new(false),
        }
    }

    fn store(&self) -> SharedMemory<&TurnedClock> {
        SharedMemory::with_clock(Arc::clone(&self.table), &self.clock)
    }

    fn status(&self) -> TableStatus {
        let status = self.store().status().shared_memory;
        status.expect("shared memory has a table")
    }

    /// Lets all racers meet the same keys at the same time, `key(round, index)`,
    /// and does `between` after each round, when nobody races.
    fn run(
        &self,
        rounds: usize,
        limit: &Limit,
        key: impl Fn(usize, usize) -> u64 + Sync,
        between: impl Fn() + Sync,
    ) {
        std::thread::scope(|scope| {
            for _ in 0..RACERS {
                scope.spawn(|| {
                    let store = self.store();
                    for round in 0..rounds {
                        self.meeting.wait();
                        for (index, count) in self.admitted.iter().enumerate() {
                            let allowed = takes(&store, key(round, index), limit);
                            count.fetch_add(u32::from(allowed), SeqCst);
                        }
                        if self.meeting.wait().is_leader() {
                            self.count_the_round();
                            between();
                        }
                    }
                    self.over.store(true, SeqCst);
                });
            }
        });
    }

    /// Lets slots come and go, and time pass, until the race is over.
    fn churn(&self, limit: &Limit, key: impl Fn(usize) -> u64) {
        let store = self.store();
        for number in 0.. {
            if self.over.load(SeqCst) {
                return;
            }
            takes(&store, key(number), limit);
            self.clock.advance(1);
        }
    }

    fn count_the_round(&self) {
        for count in &self.admitted {
            match count.swap(0, SeqCst) {
                0 => self.never.fetch_add(1, SeqCst),
                1 => continue,
                _ => self.twice.fetch_add(1, SeqCst),
            };
        }
    }

    fn assert_one_each(&self) {
        assert_eq!(self.twice.load(SeqCst), 0, "keys were admitted twice");
        assert_eq!(self.never.load(SeqCst), 0, "keys were not admitted");
        assert_eq!(self.status().evictions, 0, "the table was too small");
    }

    /// Keys whose search starts at one and the same slot.
    fn neighbours(&self, limit: &Limit, count: usize) -> Vec<u64> {
        let lives_there = |number: &u64| {
            let bytes = number.to_le_bytes();
            let place = self.table.place(Key::unnamed(&bytes), limit.identity());
            // A place is nobody's business, but it can be shown.
            format!("{place:?}").starts_with("Place { home: 400,")
        };
        (0..1_000_000).filter(lives_there).take(count).collect()
    }
}

fn takes(store: &SharedMemory<&TurnedClock>, key: u64, limit: &Limit) -> bool {
    let key = key.to_le_bytes();
    let question = question(Key::unnamed(&key), limit, Ask::take(1));
    let answer = store.decide(&question).expect("an answer");
    answer.decision.allowed
}

#[test]
fn one_worker_gets_the_token_of_a_new_key() {
    let race = Race::new(16 << 20, 64);
    let new = |round, index| (round * 64 + index) as u64;
    race.run(1000, &slow_bucket(1, 1.0 / 31_622_400.0), new, || ());
    race.assert_one_each();
    assert_eq!(race.status().live, 1000 * 64);
}

#[test]
fn one_worker_gets_it_while_slots_expire_all_around() {
    let race = Race::new(64 << 10, 64);
    let fleeting = short_window(1, Micros(1));
    let new = |round, index| (round * 64 + index) as u64;
    std::thread::scope(|scope| {
        scope.spawn(|| race.churn(&fleeting, |number| u64::MAX - number as u64));
        // After each round all its keys are long gone.
        race.run(1000, &window(1, 86_400), new, || {
            race.clock.advance(2 * DAY);
        });
    });
    race.assert_one_each();
}

#[test]
fn one_worker_gets_it_while_slots_come_and_go_in_front_of_it() {
    const KEYS: usize = 6;
    let race = Race::new(64 << 10, KEYS);
    let (lasting, fleeting) = (window(1, 86_400), short_window(1, Micros(1)));
    let racing = race.neighbours(&lasting, KEYS);
    let churning = race.neighbours(&fleeting, KEYS);
    assert_eq!((racing.len(), churning.len()), (KEYS, KEYS));
    let forget = || {
        for key in &racing {
            let reset = race
                .store()
                .reset(Key::unnamed(&key.to_le_bytes()), &lasting);
            assert!(reset.is_ok(), "{reset:?}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| race.churn(&fleeting, |number| churning[number % KEYS]));
        race.run(20_000, &lasting, |_, index| racing[index], forget);
    });
    race.assert_one_each();
}
