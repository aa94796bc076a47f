//! A worker that was killed in the middle of a window's swap leaves a desk that
//! says what it was about to do. Who takes the desk next finds out which record
//! is its own, and writes to no other.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Barrier};

use sluice::limit::{Ask, Decision, Key, Micros};
use sluice::store::Store;
use sluice::store::shm::{Mapping, SharedMemory, Table};

use crate::support::limits::{SECOND, question, sliding};
use crate::turned_clock::TurnedClock;

const SIZE: u64 = 64 << 10;
/// Heads come behind the header and the slots; see `docs/architecture.md`.
const HEADS: u64 = 4096 + SIZE;
/// Of the smallest table. Desks are on its last page.
const DESKS: u64 = 8;
const DESK: u64 = 64;
/// In a desk, behind its mutex.
const INCARNATION: u64 = 40;
const SPARE: u64 = 44;
const INTENT_VERSION: u64 = 48;
const INTENT: u64 = 56;

fn number(file: &File, at: u64) -> u32 {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, at).expect("it is there");
    u32::from_ne_bytes(bytes)
}

fn set(file: &File, at: u64, bytes: &[u8]) {
    file.write_all_at(bytes, at).expect("it is there");
}

fn ask(store: &SharedMemory<TurnedClock>, key: &[u8], ask: Ask) -> Decision {
    let limit = sliding(10, Micros(60 * SECOND));
    let answer = store.decide(&question(Key::unnamed(key), &limit, ask));
    answer.expect("an answer").decision
}

/// What the dead worker's desk says: its spare, from which version it was to
/// swap the head, and the record that the head named then.
struct Left {
    spare: u32,
    from_version: u32,
    given: u32,
}

/// Lets a worker take 4 of a key and die, puts at its desk what `left` makes of
/// the head's version, the record it names, and the worker's spare; then lets
/// others take all desks and write.
fn die_and_go_on(left: impl Fn(u32, u32, u32) -> Left) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("table");
    let mapping = Mapping::file(&path, SIZE as usize, Micros::ZERO).expect("a table");
    let store = SharedMemory::with_clock(Arc::new(Table::new(mapping)), TurnedClock::default());
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let file = file.expect("the file of the table");
    std::thread::scope(|scope| {
        let dead = scope.spawn(|| ask(&store, b"k", Ask::take(4)));
        assert_eq!(dead.join().expect("a thread").remaining, 6);
    });

    let words = |index: &u64| (0..4).any(|n| number(&file, HEADS + index * 16 + n * 4) != 0);
    let head = (0..200).find(words).expect("a head");
    let (record, version) = (
        number(&file, HEADS + head * 16),
        number(&file, HEADS + head * 16 + 4),
    );
    let desks = file.metadata().expect("a file").len() - 4096;
    let desk = (0..DESKS)
        .map(|index| desks + index * DESK)
        .find(|desk| number(&file, desk + INCARNATION) == 1)
        .expect("the desk of the dead");
    let left = left(version, record, number(&file, desk + SPARE));
    set(&file, desk + SPARE, &left.spare.to_ne_bytes());
    set(
        &file,
        desk + INTENT_VERSION,
        &left.from_version.to_ne_bytes(),
    );
    let intent = (head + 1) << 32 | u64::from(left.given);
    set(&file, desk + INTENT, &intent.to_ne_bytes());

    let all_have_one = Barrier::new(DESKS as usize);
    std::thread::scope(|scope| {
        for worker in 0..DESKS as u8 {
            let (store, all_have_one) = (&store, &all_have_one);
            scope.spawn(move || {
                for round in 0..3 {
                    let left = ask(store, &[worker], Ask::take(1)).remaining;
                    // Each has its desk as long as it lives.
                    all_have_one.wait();
                    assert_eq!(left, 9 - round, "worker {worker}");
                    assert_eq!(ask(store, b"k", Ask::peek(1)).remaining, 6);
                    all_have_one.wait();
                }
            });
        }
    });
    assert_eq!(ask(&store, b"k", Ask::take(2)).remaining, 4);
    for worker in 0..DESKS as u8 {
        assert_eq!(ask(&store, &[worker], Ask::peek(1)).remaining, 7);
    }
}

#[test]
fn killed_before_the_swap() {
    die_and_go_on(|version, record, spare| Left {
        spare,
        from_version: version,
        given: record,
    });
}

#[test]
fn killed_between_the_swap_and_the_hand_over() {
    die_and_go_on(|version, record, spare| Left {
        spare: record,
        from_version: version - 1,
        given: spare,
    });
}

#[test]
fn killed_behind_the_hand_over() {
    die_and_go_on(|version, _, spare| Left {
        spare,
        from_version: version - 1,
        given: spare,
    });
}

#[test]
fn killed_while_others_went_on() {
    // Whichever of the two is in use by others now, neither is written to.
    die_and_go_on(|version, record, spare| Left {
        spare: record,
        from_version: version.wrapping_sub(9),
        given: spare,
    });
    die_and_go_on(|version, record, spare| Left {
        spare,
        from_version: version.wrapping_sub(9),
        given: record,
    });
}
