//! Eight processes on one key get what one would: never more than capacity and
//! refill, and hardly less.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use sluice::limit::{Ask, Key, Micros};
use sluice::store::Store;
use sluice::store::clock::Clock;
use sluice::store::shm::{BootClock, Mapping, SharedMemory, Table};

use crate::support::limits::{SECOND, bucket, question};

const PROCESSES: usize = 8;
/// Enough for a second, so that a machine that does other things meanwhile
/// does not let tokens go by.
const CAPACITY: i64 = 20_000;
const RATE: i64 = 20_000;
const SIZE: usize = 1 << 20;

/// Set for the processes that this test starts: the file they share, and when
/// they are to stop by the kernel's clock.
const FILE: &str = "SLUICE_TEST_FILE";
const UNTIL: &str = "SLUICE_TEST_UNTIL";

#[test]
fn eight_processes_share_one_key() {
    if let (Ok(file), Ok(until)) = (std::env::var(FILE), std::env::var(UNTIL)) {
        let until = Micros(until.parse().expect("a time"));
        return hammer(Path::new(&file), until);
    }
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("table");
    let start = BootClock.now();
    let until = start.after(Micros(2 * SECOND));
    let workers: Vec<_> = (0..PROCESSES).map(|_| worker(&file, until)).collect();

    let mut admitted = 0;
    let (mut first, mut last, mut left) = (until.0, start.0, 0);
    for worker in workers {
        let output = worker.wait_with_output().expect("a worker ends");
        assert!(output.status.success(), "a worker failed: {output:?}");
        let [count, began, ended, remaining] = report(&String::from_utf8_lossy(&output.stdout));
        admitted += count;
        first = first.min(began);
        if ended > last {
            (last, left) = (ended, remaining);
        }
    }
    let due = |micros: u64| CAPACITY as u64 + micros * RATE as u64 / SECOND;
    let most = due(until.since(start).0);
    assert!(admitted <= most, "{admitted} of {most}");
    // What went out, and what nobody had the time to ask for.
    let least = due(last.saturating_sub(first)) * 99 / 100;
    assert!(admitted + left >= least, "{admitted} + {left} of {least}");
}

fn worker(file: &Path, until: Micros) -> Child {
    let this = std::env::current_exe().expect("the path of this test");
    Command::new(this)
        .args(["--exact", "processes::eight_processes_share_one_key"])
        .args(["--nocapture", "--test-threads", "1"])
        .env(FILE, file)
        .env(UNTIL, until.0.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a worker starts")
}

/// What a worker does, and tells on its output.
fn hammer(file: &Path, until: Micros) {
    let mapping = Mapping::file(file, SIZE, BootClock.now()).expect("the shared file");
    let store = SharedMemory::new(Arc::new(Table::new(mapping)));
    let limit = bucket(CAPACITY, RATE);
    let question = question(Key::unnamed(b"one key"), &limit, Ask::take(1));
    let mut admitted = 0_u64;
    // After the first decision, before the last, and what that one left: a
    // worker may have to wait for a processor anywhere.
    let (mut began, mut ended, mut left) = (None, Micros::ZERO, 0);
    let mut now = BootClock.now();
    loop {
        let before = now;
        let answer = store.decide(&question).expect("an answer");
        now = BootClock.now();
        // A decision after the end has no part in the bound.
        if now >= until {
            break;
        }
        began.get_or_insert(now);
        (ended, left) = (before, answer.decision.remaining);
        admitted += u64::from(answer.decision.allowed);
    }
    let began = began.unwrap_or(until);
    println!("\nreport {admitted} {} {} {left}", began.0, ended.0);
}

fn report(output: &str) -> [u64; 4] {
    output
        .lines()
        .find_map(|line| line.strip_prefix("report "))
        .map(|line| line.split(' ').filter_map(|number| number.parse().ok()))
        .and_then(|numbers| numbers.collect::<Vec<_>>().try_into().ok())
        .unwrap_or_else(|| panic!("a worker said only {output}"))
}
