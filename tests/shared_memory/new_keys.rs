//! Workers that meet a new key at once give it one slot: of a limit of one,
//! exactly one of them gets the token.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier};

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::Store;
use sluice::store::shm::{Mapping, SharedMemory, Table, TableStatus};

use crate::support::limits::{
    DAY, SECOND, permits, question, short_window, sliding, slow_bucket, window,
};
use crate::turned_clock::TurnedClock;

type Shared<'a> = SharedMemory<&'a TurnedClock>;

struct Race {
    racers: usize,
    table: Arc<Table>,
    clock: TurnedClock,
    /// How often each key of the round was admitted.
    admitted: Vec<AtomicU32>,
    /// Keys that were admitted more than once, and not at all.
    twice: AtomicU32,
    never: AtomicU32,
    meeting: Barrier,
}

impl Race {
    fn new(racers: usize, table_size: usize, keys_in_a_round: usize) -> Self {
        let mapping = Mapping::anonymous(table_size, Micros::ZERO).expect("a mapping");
        Self {
            racers,
            table: Arc::new(Table::new(mapping)),
            clock: TurnedClock::ticking(),
            admitted: (0..keys_in_a_round).map(|_| AtomicU32::new(0)).collect(),
            twice: AtomicU32::new(0),
            never: AtomicU32::new(0),
            meeting: Barrier::new(racers),
        }
    }

    fn store(&self) -> Shared<'_> {
        SharedMemory::with_clock(Arc::clone(&self.table), &self.clock)
    }

    fn status(&self) -> TableStatus {
        let status = self.store().status().shared_memory;
        status.expect("shared memory has a table")
    }

    /// Lets all racers meet the same keys at the same time, `key(round, index)`,
    /// each doing `aside` after each key. Does `between` after each round, when
    /// nobody races.
    fn run(
        &self,
        rounds: usize,
        limit: &Limit,
        key: impl Fn(usize, usize) -> u64 + Sync,
        aside: impl Fn(&Shared<'_>, usize) + Sync,
        between: impl Fn() + Sync,
    ) {
        let race = || {
            let store = self.store();
            for round in 0..rounds {
                self.meeting.wait();
                for (index, count) in self.admitted.iter().enumerate() {
                    let allowed = takes(&store, key(round, index), limit);
                    count.fetch_add(u32::from(allowed), SeqCst);
                    aside(&store, round + index);
                }
                if self.meeting.wait().is_leader() {
                    self.count_the_round();
                    between();
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.racers {
                scope.spawn(race);
            }
        });
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

    /// Keys whose search starts at one and the same line.
    fn neighbours(&self, limit: &Limit, count: usize) -> Vec<u64> {
        // Homes are lines of four slots.
        self.neighbours_among((64 << 10) / 16 / 4, limit, count)
    }

    /// Keys whose search starts at the same of so many homes.
    fn neighbours_among(&self, homes: usize, limit: &Limit, count: usize) -> Vec<u64> {
        let lives_there = |number: &u64| {
            let bytes = number.to_le_bytes();
            let place = self.table.place(Key::unnamed(&bytes), limit.identity());
            place.home_among(homes) == homes / 2
        };
        (0..1_000_000).filter(lives_there).take(count).collect()
    }
}

fn takes(store: &Shared<'_>, key: u64, limit: &Limit) -> bool {
    let key = key.to_le_bytes();
    let question = question(Key::unnamed(&key), limit, Ask::take(1));
    let answer = store.decide(&question).expect("an answer");
    answer.decision.allowed
}

#[test]
fn one_worker_gets_the_token_of_a_new_key() {
    let race = Race::new(3, 16 << 20, 64);
    let new = |round, index| (round * 64 + index) as u64;
    race.run(
        1000,
        &slow_bucket(1, 1.0 / 31_622_400.0),
        new,
        |_, _| (),
        || (),
    );
    race.assert_one_each();
    assert_eq!(race.status().live, 1000 * 64);
}

#[test]
fn one_worker_gets_it_while_slots_expire_all_around() {
    let race = Race::new(3, 64 << 10, 64);
    let fleeting = short_window(1, Micros(3));
    let new = |round, index| (round * 64 + index) as u64;
    race.run(
        1000,
        &window(1, 86_400),
        new,
        |store, number| {
            takes(store, u64::MAX - number as u64, &fleeting);
        },
        // After each round all its keys are long gone.
        || race.clock.advance(2 * DAY),
    );
    race.assert_one_each();
}

#[test]
fn one_worker_gets_it_while_slots_come_and_go_in_front_of_it() {
    const KEYS: usize = 6;
    let race = Race::new(2, 64 << 10, KEYS);
    let (lasting, fleeting) = (window(1, 86_400), short_window(1, Micros(3)));
    let racing = race.neighbours(&lasting, KEYS);
    let passing = race.neighbours(&fleeting, KEYS);
    assert_eq!((racing.len(), passing.len()), (KEYS, KEYS));
    race.run(
        60_000,
        &lasting,
        |_, index| racing[index],
        |store, number| {
            takes(store, passing[number % KEYS], &fleeting);
        },
        || {
            for key in &racing {
                let key = key.to_le_bytes();
                let reset = race.store().reset(Key::unnamed(&key), &lasting);
                assert!(reset.is_ok(), "{reset:?}");
            }
        },
    );
    race.assert_one_each();
}

#[test]
fn one_worker_gets_the_hit_of_a_new_sliding_window() {
    let race = Race::new(3, 1 << 20, 64);
    let limit = sliding(1, Micros(10 * SECOND));
    let new = |round, index| (round * 64 + index) as u64;
    // After each round all its keys are gone, and their heads are taken over.
    race.run(
        1500,
        &limit,
        new,
        |_, _| (),
        || race.clock.advance(20 * SECOND),
    );
    race.assert_one_each();
}

#[test]
fn one_worker_gets_it_while_windows_come_and_go_in_front_of_it() {
    const KEYS: usize = 4;
    // A prime below the number of heads, so that these are near each other.
    const HOMES: usize = 13;
    let race = Race::new(2, 64 << 10, KEYS);
    let (lasting, fleeting) = (sliding(1, Micros(DAY)), sliding(1, Micros(3)));
    let racing = race.neighbours_among(HOMES, &lasting, KEYS);
    let passing = race.neighbours_among(HOMES, &fleeting, KEYS);
    race.run(
        20_000,
        &lasting,
        |_, index| racing[index],
        |store, number| {
            takes(store, passing[number % KEYS], &fleeting);
        },
        || {
            for key in &racing {
                let key = key.to_le_bytes();
                let reset = race.store().reset(Key::unnamed(&key), &lasting);
                assert!(reset.is_ok(), "{reset:?}");
            }
        },
    );
    race.assert_one_each();
}

#[test]
fn one_worker_gets_the_permit_of_a_new_key() {
    const KEYS: usize = 16;
    let race = Race::new(3, 1 << 20, KEYS);
    let limit = permits(1, 60);
    let (round, reset) = (AtomicU32::new(0), |key: u64| {
        let reset = race.store().reset(Key::unnamed(&key.to_le_bytes()), &limit);
        assert!(reset.is_ok(), "{reset:?}");
    });
    // New keys in each round, on the blocks of those before.
    race.run(
        3000,
        &limit,
        |round, index| (round * KEYS + index) as u64,
        |_, _| (),
        || {
            let over = u64::from(round.fetch_add(1, SeqCst));
            let first = over * KEYS as u64;
            (first..first + KEYS as u64).for_each(reset);
        },
    );
    race.assert_one_each();
}
