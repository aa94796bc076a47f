//! A table half full loses nothing. A full one makes room by what expires
//! soonest, counts that, and refuses nobody.

use std::sync::Arc;

use sluice::limit::{Ask, Decision, Key, Limit, Micros};
use sluice::store::Store;
use sluice::store::shm::{Mapping, SharedMemory, Table, TableStatus};

use crate::support::limits::{DAY, SECOND, bucket, question, short_window, slow_bucket, window};
use crate::turned_clock::TurnedClock;

fn store(size: usize, clock: &TurnedClock) -> SharedMemory<&TurnedClock> {
    let mapping = Mapping::anonymous(size, Micros::ZERO).expect("a mapping");
    SharedMemory::with_clock(Arc::new(Table::new(mapping)), clock)
}

fn ask(store: &SharedMemory<&TurnedClock>, key: u64, limit: &Limit, ask: Ask) -> Decision {
    let key = key.to_le_bytes();
    let question = question(Key::unnamed(&key), limit, ask);
    store.decide(&question).expect("an answer").decision
}

fn status(store: &SharedMemory<&TurnedClock>) -> TableStatus {
    let status = store.status().shared_memory;
    status.expect("shared memory has a table")
}

#[test]
fn a_million_keys_lose_nothing_in_32_megabytes() {
    const KEYS: u64 = 1_000_000;
    let clock = TurnedClock::default();
    let store = store(32 << 20, &clock);
    let limit = slow_bucket(10, 1.0 / 86_400.0);
    for key in 0..KEYS {
        ask(&store, key, &limit, Ask::take(1 + key % 9));
    }
    for key in 0..KEYS {
        let left = ask(&store, key, &limit, Ask::peek(1)).remaining;
        assert_eq!(u64::from(left), 9 - key % 9, "of key {key}");
    }
    let status = status(&store);
    assert_eq!(status.evictions, 0);
    assert_eq!(status.live as u64, KEYS);
}

#[test]
fn a_full_table_refuses_nobody_and_counts_what_it_forgets() {
    const KEYS: u64 = 20_000;
    let clock = TurnedClock::default();
    let store = store(64 << 10, &clock);
    let limit = window(10, 86_400);
    for key in 0..KEYS {
        let first = ask(&store, key, &limit, Ask::take(1));
        assert!(first.allowed);
        assert_eq!(first.remaining, 9);
        let second = ask(&store, key, &limit, Ask::take(1));
        assert_eq!(second.remaining, 8, "what is written is there");
    }
    let status = status(&store);
    assert_eq!(status.slots, (64 << 10) / 16);
    assert_eq!(status.live, status.slots, "all of the table is used");
    assert_eq!(status.evictions + status.live as u64, KEYS);
}

#[test]
fn a_full_table_forgets_what_expires_soonest() {
    let clock = TurnedClock::default();
    let store = store(64 << 10, &clock);
    // A quarter of the table matters for a day, and any number of keys for
    // ever shorter, the last of them for a minute only.
    let (long, short) = (window(1, 86_400), bucket(600, 10));
    let keepers = 0..1000;
    for key in keepers.clone() {
        ask(&store, key, &long, Ask::take(1));
    }
    for key in 1000..50_000 {
        ask(&store, key, &short, Ask::take(600));
        clock.advance(10);
    }
    for key in keepers {
        let left = ask(&store, key, &long, Ask::peek(1)).remaining;
        assert_eq!(left, 0, "key {key} made room for what expires before it");
    }
    // All others expire in the order in which they came.
    for key in 49_000..50_000 {
        let left = ask(&store, key, &short, Ask::peek(1)).remaining;
        assert_eq!(left, 0, "key {key} made room for an older one");
    }
}

#[test]
fn what_has_expired_makes_room_before_what_has_not() {
    let clock = TurnedClock::default();
    let store = store(64 << 10, &clock);
    let (long, short) = (window(1, 86_400), window(1, 60));
    for round in 0..50 {
        let first = 1_000_000 + round * 3000;
        for key in first..first + 1500 {
            ask(&store, key, &short, Ask::take(1));
        }
        clock.advance(60 * SECOND);
    }
    for key in 0..500 {
        ask(&store, key, &long, Ask::take(1));
    }
    assert_eq!(status(&store).live, 500);
    assert_eq!(status(&store).evictions, 0);
    clock.advance(DAY);
    assert_eq!(status(&store).live, 0);
}

#[test]
fn a_slower_rate_keeps_its_slot_for_as_long_as_its_debt_lasts() {
    let clock = TurnedClock::default();
    let store = store(64 << 10, &clock);
    let slow = slow_bucket(100, 1.0 / 3600.0);
    ask(&store, 0, &bucket(100, 1000), Ask::take(100));
    assert!(!ask(&store, 0, &slow, Ask::take(1)).allowed);
    // By the old rate the bucket is full now, and its slot free for others.
    for key in 1..20_000 {
        clock.advance(100);
        ask(&store, key, &short_window(1, Micros(10_000)), Ask::take(1));
    }
    assert_eq!(ask(&store, 0, &slow, Ask::peek(1)).remaining, 0);
    assert_eq!(status(&store).evictions, 0);
}
