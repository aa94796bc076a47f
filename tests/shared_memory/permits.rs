//! Permits in shared memory: never more than there are, each as long as its
//! worker lives, and only its worker gives it back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::clock::Clock;
use sluice::store::shm::{BootClock, Mapping, SharedMemory, Table};
use sluice::store::{Answer, Store};

use crate::support::limits::{SECOND, permits, question};
use crate::support::rng::Rng;
use crate::workers::{SharedNumbers, Workers};

fn table(size: usize) -> SharedMemory {
    let mapping = Mapping::anonymous(size, BootClock.now()).expect("a mapping");
    SharedMemory::new(Arc::new(Table::new(mapping)))
}

fn acquire(store: &SharedMemory, key: &str, limit: &Limit) -> Answer {
    let question = question(Key::unnamed(key.as_bytes()), limit, Ask::take(1));
    let answer = store.decide(&question).expect("an answer");
    assert_eq!(answer.decision.allowed, answer.permit.is_some());
    answer
}

fn release(store: &SharedMemory, key: &str, limit: &Limit, answer: &Answer) -> bool {
    let question = question(Key::unnamed(key.as_bytes()), limit, Ask::take(1));
    let held = answer.held().expect("a permit");
    store.release(&question, held).expect("an answer")
}

fn free(store: &SharedMemory, key: &str, limit: &Limit) -> u32 {
    let question = question(Key::unnamed(key.as_bytes()), limit, Ask::peek(1));
    let answer = store.decide(&question).expect("an answer");
    answer.decision.remaining
}

const MAX: usize = 5;
const KILLS: usize = 400;
const WORKERS: usize = 8;
/// How many permits are written down, each by its worker, when it was had and
/// when it was given back.
const LOGGED: usize = 1 << 18;

/// Takes and gives back permits until it is killed.
fn hold_until_killed(store: &SharedMemory, log: &SharedNumbers, number: usize, until: Micros) {
    let limit = permits(MAX as i64, 60);
    let mut rng = Rng::seeded(number as u64);
    while BootClock.now() < until {
        let answer = acquire(store, "k", &limit);
        if answer.permit.is_none() {
            std::thread::sleep(Duration::from_micros(20));
            continue;
        }
        let had = BootClock.now();
        let index = log.all()[0].fetch_add(1, SeqCst) as usize;
        let entry = &log.all()[1..][index % LOGGED * 3..][..3];
        entry[1].store(had.0, SeqCst);
        entry[0].store(number as u64 + 1, SeqCst);
        std::thread::sleep(Duration::from_micros(rng.below(150)));
        entry[2].store(BootClock.now().0, SeqCst);
        assert!(release(store, "k", &limit, &answer));
    }
}

#[test]
fn never_more_than_max_hold_one_and_the_dead_hold_none() {
    let store = table(1 << 20);
    let log = SharedNumbers::new(1 + 3 * LOGGED);
    let until = BootClock.now().after(Micros(120 * SECOND));
    let limit = permits(MAX as i64, 60);
    let mut workers = Workers::default();
    let mut rng = Rng::seeded(1);
    let mut killed_at = vec![u64::MAX; KILLS + WORKERS];
    for number in 0..KILLS + WORKERS {
        workers.start(number, || hold_until_killed(&store, &log, number, until));
        if workers.count() > WORKERS {
            std::thread::sleep(Duration::from_micros(rng.below(4000)));
            let index = rng.below(workers.count() as u64) as usize;
            killed_at[workers.number(index)] = BootClock.now().0;
            workers.kill(index);
        }
    }
    let now = BootClock.now().0;
    drop(workers);
    assert_eq!(free(&store, "k", &limit), MAX as u32, "the dead hold some");

    // At each instant that somebody got one: +1, and -1 where it was given
    // back or its worker killed.
    let mut changes = Vec::new();
    let count = (log.all()[0].load(SeqCst) as usize).min(LOGGED);
    assert!(count > 2000, "only {count} permits");
    for entry in log.all()[1..][..count * 3].chunks_exact(3) {
        let [who, had, gave] = [0, 1, 2].map(|field| entry[field].load(SeqCst));
        let killed = who.checked_sub(1).map(|number| killed_at[number as usize]);
        let end = if gave > 0 {
            gave
        } else {
            killed.unwrap_or(0).min(now)
        };
        if had < end {
            changes.extend([(had, 1), (end, -1)]);
        }
    }
    // What ends in the same microsecond ends first.
    changes.sort_unstable();
    let (mut in_use, mut most) = (0, 0);
    for (at, change) in changes {
        in_use += change;
        most = most.max(in_use);
        assert!(in_use <= MAX as i32, "{in_use} held at {at}");
    }
    assert_eq!(most, MAX as i32, "all of them were in use at some time");
}

#[test]
fn a_key_may_have_more_permits_than_fit_in_a_block() {
    let store = table(1 << 20);
    let limit = permits(200, 60);
    let mut held: Vec<_> = (0..200).map(|_| acquire(&store, "k", &limit)).collect();
    for (index, answer) in held.iter().enumerate() {
        assert_eq!(answer.decision.remaining as usize, 199 - index);
    }
    let mut names: Vec<_> = held.iter().filter_map(|answer| answer.permit).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 200);
    assert!(!acquire(&store, "k", &limit).decision.allowed);
    for index in [199, 100, 63, 64, 0] {
        let given = held.swap_remove(index);
        assert!(release(&store, "k", &limit, &given));
    }
    assert_eq!(free(&store, "k", &limit), 5);
    held.extend((0..5).map(|_| acquire(&store, "k", &limit)));
    assert!(held.iter().all(|answer| answer.decision.allowed));
    assert!(!acquire(&store, "k", &limit).decision.allowed);
    for answer in held {
        assert!(release(&store, "k", &limit, &answer));
    }
    assert_eq!(free(&store, "k", &limit), 200);
}

#[test]
fn under_a_lowered_max_what_is_held_runs_out_first() {
    for [before, after] in [[8, 5], [150, 5], [150, 70]] {
        let store = table(1 << 20);
        let (high, low) = (permits(before, 60), permits(after, 60));
        let held: Vec<_> = (0..before).map(|_| acquire(&store, "k", &high)).collect();
        // The first are given back first: those of the lowest numbers.
        for (given, answer) in (1..).zip(&held) {
            let in_use = before - (given - 1);
            let more = acquire(&store, "k", &low);
            assert_eq!(more.decision.allowed, in_use < after, "{in_use} of {after}");
            if more.decision.allowed {
                assert!(release(&store, "k", &low, &more));
            }
            assert!(release(&store, "k", &low, answer));
        }
        assert_eq!(free(&store, "k", &low), after as u32);
    }
}

#[test]
fn only_its_worker_gives_a_permit_back_and_only_once() {
    let store = table(1 << 20);
    let limit = permits(2, 60);
    let answer = acquire(&store, "k", &limit);
    let of_another = std::thread::scope(|scope| {
        let other = scope.spawn(|| release(&store, "k", &limit, &answer));
        other.join().expect("a thread")
    });
    assert!(!of_another, "another worker's");
    let told = SharedNumbers::new(1);
    let mut workers = Workers::default();
    workers.start(0, || {
        let given = release(&store, "k", &limit, &answer);
        told.all()[0].store(1 + u64::from(given), SeqCst);
    });
    workers.wait_for(0);
    assert_eq!(told.all()[0].load(SeqCst), 1, "a forked child's");
    assert_eq!(free(&store, "k", &limit), 1);

    assert!(release(&store, "k", &limit, &answer));
    assert!(!release(&store, "k", &limit, &answer), "twice");
    let next = acquire(&store, "k", &limit);
    assert!(!release(&store, "k", &limit, &answer), "the next one's");
    assert_eq!(free(&store, "k", &limit), 1);
    assert!(release(&store, "k", &limit, &next));
}

#[test]
fn blocks_of_keys_without_holders_are_used_again() {
    let store = table(64 << 10);
    let limit = permits(1, 60);
    for round in 0..50 {
        let key = format!("released {round}");
        let answer = acquire(&store, &key, &limit);
        assert!(!acquire(&store, &key, &limit).decision.allowed);
        assert!(release(&store, &key, &limit, &answer));
    }
    for round in 0..20 {
        let key = format!("dead {round}");
        let mut workers = Workers::default();
        workers.start(0, || {
            acquire(&store, &key, &limit);
        });
        workers.wait_for(0);
        let answer = acquire(&store, &key, &limit);
        assert!(answer.decision.allowed, "{key}");
        assert!(release(&store, &key, &limit, &answer));
    }
}

#[test]
fn where_there_is_no_room_it_says_so() {
    let store = table(64 << 10);
    let limit = permits(1, 60);
    let mut held = Vec::new();
    let fault = loop {
        let key = held.len().to_string();
        let question = question(Key::unnamed(key.as_bytes()), &limit, Ask::take(1));
        match store.decide(&question) {
            Ok(answer) => held.push((key, answer)),
            Err(fault) => break fault,
        }
        assert!(held.len() < 1000, "more keys than there is room for");
    };
    assert!(fault.to_string().contains("sluice.shm_size"), "{fault}");
    for (key, answer) in &held {
        assert!(!acquire(&store, key, &limit).decision.allowed);
        assert!(release(&store, key, &limit, answer));
    }
    let next = acquire(&store, "there is room again", &limit);
    assert!(next.decision.allowed);
}

#[test]
fn a_worker_of_two_tables_keeps_what_it_holds_in_each() {
    let tables = [table(64 << 10), table(64 << 10)];
    let limit = permits(20, 60);
    let mut held = Vec::new();
    for _ in 0..20 {
        for store in &tables {
            held.push((store, acquire(store, "k", &limit)));
        }
    }
    assert!(tables.iter().all(|store| free(store, "k", &limit) == 0));
    for (store, answer) in held {
        assert!(release(store, "k", &limit, &answer));
    }
}

#[test]
fn a_block_with_a_permit_is_not_given_to_another_key() {
    const KEYS: usize = 4;
    const TURNS: u64 = 60_000;
    // Three blocks: a key gives its own up as soon as nobody holds a permit.
    let store = table(64 << 10);
    let limit = permits(1, 60);
    let holders: Vec<_> = (0..KEYS).map(|_| AtomicU32::new(0)).collect();
    let taken = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, limit, holders, taken) = (&store, &limit, &holders, &taken);
            scope.spawn(move || {
                let mut rng = Rng::seeded(thread);
                for _ in 0..TURNS {
                    let key = rng.below(KEYS as u64) as usize;
                    let name = [key as u8];
                    let question = question(Key::unnamed(&name), limit, Ask::take(1));
                    // There may be no room for a moment.
                    let Ok(answer) = store.decide(&question) else {
                        continue;
                    };
                    let Some(held) = answer.held() else { continue };
                    taken.fetch_add(1, SeqCst);
                    let before = holders[key].fetch_add(1, SeqCst);
                    assert_eq!(before, 0, "key {key} has two holders");
                    // Held for long enough that others come meanwhile.
                    if rng.chance(50) {
                        std::thread::yield_now();
                    }
                    holders[key].fetch_sub(1, SeqCst);
                    assert_eq!(store.release(&question, held), Ok(true));
                }
            });
        }
    });
    let taken = taken.load(SeqCst);
    assert!(u64::from(taken) > TURNS / 2, "only {taken}");
}
