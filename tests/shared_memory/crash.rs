//! A worker that is killed, anywhere and at any time, leaves nothing that
//! others would have to wait for, and no tokens that were not there.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::Store;
use sluice::store::clock::Clock;
use sluice::store::shm::{BootClock, Mapping, SharedMemory, Table};

use crate::support::limits::{SECOND, bucket, question, short_window};
use crate::support::rng::Rng;
use crate::workers::{SharedNumbers, Workers};

const KILLS: usize = 1000;
const WORKERS: usize = 3;
const HOT: usize = 4;
const CAPACITY: i64 = 100;
const RATE: i64 = 5000;

/// Asks for hot keys and for ever new ones until it is killed.
fn hammer(store: &SharedMemory, tally: &SharedNumbers, number: usize, until: Micros) {
    let hot = bucket(CAPACITY, RATE);
    // Its slots are free again at once, so that workers claim slots all the
    // time, and the same ones.
    let fleeting = short_window(1, Micros(20));
    for round in 0_u64.. {
        let now = BootClock.now();
        // Should the parent die, nobody kills us.
        if now > until {
            return;
        }
        let key = round as usize % HOT;
        if takes(store, &[key as u8], &hot) {
            tally.all()[key].fetch_add(1, SeqCst);
        }
        // The same new key for all workers at about the same time.
        takes(store, &(now.0 / 50).to_le_bytes(), &fleeting);
        takes(store, &(now.0, number).0.to_le_bytes(), &fleeting);
    }
}

fn takes(store: &SharedMemory, key: &[u8], limit: &Limit) -> bool {
    store
        .decide(&question(Key::unnamed(key), limit, Ask::take(1)))
        .is_ok_and(|answer| answer.decision.allowed)
}

#[test]
fn killed_workers_leave_nothing_behind() {
    let mapping = Mapping::anonymous(64 << 10, BootClock.now()).expect("a mapping");
    let store = SharedMemory::new(Arc::new(Table::new(mapping)));
    // What workers were let do with the hot keys, as they counted it.
    let tally = SharedNumbers::new(HOT);
    let start = BootClock.now();
    let until = start.after(Micros(120 * SECOND));

    let mut workers = Workers::default();
    let mut rng = Rng::seeded(1);
    for number in 0..KILLS + WORKERS {
        workers.start(number, || hammer(&store, &tally, number, until));
        if workers.count() > WORKERS {
            // Somewhere in its work, for it has had the time to start it.
            std::thread::sleep(Duration::from_micros(rng.below(4000)));
            workers.kill(rng.below(WORKERS as u64) as usize);
        }
    }
    drop(workers);

    let limit = bucket(CAPACITY, RATE);
    for key in 0..HOT {
        let admitted = tally.all()[key].load(SeqCst);
        let elapsed = BootClock.now().since(start).0;
        let most = CAPACITY as u64 + elapsed * RATE as u64 / SECOND;
        assert!(admitted <= most, "{admitted} of {most}");
        assert!(admitted >= most / 2, "only {admitted} of {most}");
        // Nothing to wait for but tokens.
        while !takes(&store, &[key as u8], &limit) {
            std::thread::yield_now();
            assert!(BootClock.now() < until, "key {key} is stuck");
        }
    }
    let status = store.status().shared_memory.expect("a table");
    assert_eq!(status.evictions, 0);
}
