//! A claim is what a worker puts into a slot before a key's first state. One
//! that was left in front of a state, by a worker that was killed, hides it
//! from nobody.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use sluice::limit::{Ask, Key, Micros};
use sluice::store::Store;
use sluice::store::shm::{Mapping, SharedMemory, Table};
use tempfile::TempDir;

use crate::support::limits::{question, window};
use crate::turned_clock::TurnedClock;

/// Where slots start, and how long they are; see `docs/architecture.md`.
const HEADER: u64 = 4096;
const SLOT: u64 = 16;
const SLOTS: u64 = (64 << 10) / SLOT;

fn slot(file: &File, index: u64) -> u128 {
    let mut bytes = [0; SLOT as usize];
    let read = file.read_exact_at(&mut bytes, HEADER + index * SLOT);
    read.expect("the slot is in the file");
    u128::from_ne_bytes(bytes)
}

fn set_slot(file: &File, index: u64, word: u128) {
    let written = file.write_all_at(&word.to_ne_bytes(), HEADER + index * SLOT);
    written.expect("the slot is in the file");
}

/// A claim on the slot of this state: its fingerprint, the life of a claim, no
/// count, no instant.
fn claim_for(state: u128) -> u128 {
    (state >> 79 << 79) | 62 << 73
}

/// A table in a file, with one key in it of which 4 in 10 are taken.
struct OneKey {
    store: SharedMemory<TurnedClock>,
    file: File,
    /// Where its state is.
    home: u64,
    _dir: TempDir,
}

impl OneKey {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("table");
        let mapping = Mapping::file(&path, 64 << 10, Micros::ZERO).expect("a table");
        let table = Arc::new(Table::new(mapping));
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let mut one = Self {
            store: SharedMemory::with_clock(table, TurnedClock::default()),
            file: file.expect("the file of the table"),
            home: 0,
            _dir: dir,
        };
        assert_eq!(one.left(Ask::take(4)), 6);
        let home = (0..SLOTS).find(|index| slot(&one.file, *index) != 0);
        one.home = home.expect("a state");
        one
    }

    fn left(&self, ask: Ask) -> u32 {
        let limit = window(10, 3600);
        let answer = self.store.decide(&question(KEY, &limit, ask));
        answer.expect("an answer").decision.remaining
    }
}

const KEY: Key<'static> = Key {
    name: b"",
    bytes: b"k",
};

#[test]
fn a_claim_in_front_of_a_state_does_not_hide_it() {
    let one = OneKey::new();
    let state = slot(&one.file, one.home);
    set_slot(&one.file, (one.home + 1) % SLOTS, state);
    set_slot(&one.file, one.home, claim_for(state));
    assert_eq!(one.left(Ask::peek(1)), 6);
    assert_eq!(one.left(Ask::take(0)), 6);
    assert_eq!(one.left(Ask::take(1)), 5);
    assert_eq!(one.left(Ask::charge(1)), 4);
    assert!(one.store.reset(KEY, &window(10, 3600)).is_ok());
    assert_eq!(one.left(Ask::peek(1)), 10);
}

#[test]
fn a_claim_alone_is_no_state() {
    let one = OneKey::new();
    let state = slot(&one.file, one.home);
    set_slot(&one.file, one.home, claim_for(state));
    assert_eq!(one.left(Ask::peek(1)), 10);
    assert_eq!(one.left(Ask::take(1)), 9);
    assert_eq!(one.left(Ask::take(1)), 8);
}
