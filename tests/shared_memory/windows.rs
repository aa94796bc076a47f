//! Sliding windows that many processes share: never more than the limit in any
//! interval, hardly less, and nothing stuck or used up where workers die.

use std::fmt::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::Store;
use sluice::store::clock::Clock;
use sluice::store::shm::{BootClock, Mapping, SharedMemory, Table};

use crate::support::limits::{SECOND, question, sliding};
use crate::support::rng::Rng;
use crate::workers::{SharedNumbers, Workers};

const PROCESSES: usize = 8;
const SIZE: usize = 1 << 20;

/// Panics if an interval of `length` has more than `limit` of these.
fn assert_bound(times: &mut [u64], limit: usize, length: Micros) {
    times.sort_unstable();
    // One more than the limit lies further apart than the window is long.
    for both in times.windows(limit + 1) {
        let (first, last) = (both[0], both[limit]);
        assert!(
            last - first >= length.0,
            "{} from {first} to {last} us",
            limit + 1
        );
    }
}

/// Set for the processes that this test starts.
const FILE: &str = "SLUICE_TEST_WINDOW_FILE";
const UNTIL: &str = "SLUICE_TEST_WINDOW_UNTIL";

const LIMIT: usize = 200;
const LENGTH: Micros = Micros(20_000);

#[test]
fn eight_processes_share_one_window() {
    if let (Ok(file), Ok(until)) = (std::env::var(FILE), std::env::var(UNTIL)) {
        let until = Micros(until.parse().expect("a time"));
        return hammer(Path::new(&file), until);
    }
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("table");
    let until = BootClock.now().after(Micros(2 * SECOND));
    let workers: Vec<_> = (0..PROCESSES).map(|_| worker(&file, until)).collect();
    let (mut admitted, mut refused) = (Vec::new(), Vec::new());
    for worker in workers {
        let output = worker.wait_with_output().expect("a worker ends");
        assert!(output.status.success(), "a worker failed: {output:?}");
        let output = String::from_utf8_lossy(&output.stdout);
        let report = output.lines().find_map(|line| line.strip_prefix("report"));
        for word in report.expect("a report").split_whitespace() {
            let (kind, time) = word.split_at(1);
            let time: u64 = time.parse().expect("a time");
            if kind == "+" {
                admitted.push(time);
            } else {
                refused.push(time);
            }
        }
    }
    assert!(admitted.len() > 10 * LIMIT, "{} admitted", admitted.len());
    assert!(!refused.is_empty());
    assert_bound(&mut admitted, LIMIT, LENGTH);
    // Whoever was refused was refused for the sake of a full window and the
    // cell that reaches into it: so nine tenths pass however busy the machine.
    for time in refused {
        let since = time.saturating_sub(LENGTH.0 * 17 / 16);
        let from = admitted.partition_point(|hit| *hit < since);
        let to = admitted.partition_point(|hit| *hit <= time);
        assert!(to - from >= LIMIT, "{} of {LIMIT} at {time}", to - from);
    }
}

fn worker(file: &Path, until: Micros) -> Child {
    let this = std::env::current_exe().expect("the path of this test");
    Command::new(this)
        .args(["--exact", "windows::eight_processes_share_one_window"])
        .args(["--nocapture", "--test-threads", "1"])
        .env(FILE, file)
        .env(UNTIL, until.0.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a worker starts")
}

/// What a worker does; it tells when it was let in, by the table's clock.
fn hammer(file: &Path, until: Micros) {
    let mapping = Mapping::file(file, SIZE, BootClock.now()).expect("the shared file");
    let store = SharedMemory::new(Arc::new(Table::new(mapping)));
    let limit = sliding(LIMIT as i64, LENGTH);
    let question = question(Key::unnamed(b"one key"), &limit, Ask::take(1));
    let mut report = String::from("\nreport");
    while BootClock.now() < until {
        let answer = store.decide(&question).expect("an answer");
        let kind = if answer.decision.allowed { '+' } else { '-' };
        let _ = write!(report, " {kind}{}", answer.at.0);
        if !answer.decision.allowed {
            // All come back at once, and compete for the first places.
            let wait = answer.decision.retry_after.expect("a time");
            std::thread::sleep(Duration::from_micros(wait.0));
        }
    }
    println!("{report}");
}

const KILLS: usize = 400;
const WORKERS: usize = 3;
const HOT: usize = 3;
const HOT_LIMIT: usize = 40;
const HOT_LENGTH: Micros = Micros(10_000);
/// How many admissions of each key are written down.
const LOGGED: usize = 1 << 15;

/// Of each hot key how many were let in, and when; and one count of faults.
struct Log(SharedNumbers);

impl Log {
    fn new() -> Self {
        Self(SharedNumbers::new(HOT * (LOGGED + 1) + 1))
    }

    fn add(&self, key: usize, at: Micros) {
        let log = &self.0.all()[key * (LOGGED + 1)..][..=LOGGED];
        let index = log[0].fetch_add(1, SeqCst) as usize;
        if index < LOGGED {
            log[index + 1].store(at.0, SeqCst);
        }
    }

    /// The times of a key, without those whose worker was killed before it
    /// could say.
    fn times(&self, key: usize) -> Vec<u64> {
        let log = &self.0.all()[key * (LOGGED + 1)..][..=LOGGED];
        let times = log[1..].iter().map(|time| time.load(SeqCst));
        times.filter(|time| *time > 0).collect()
    }

    fn faults(&self) -> &std::sync::atomic::AtomicU64 {
        &self.0.all()[HOT * (LOGGED + 1)]
    }
}

/// Asks for hot keys and for ever new ones until it is killed.
fn hammer_until_killed(store: &SharedMemory, log: &Log, until: Micros) {
    let hot = sliding(HOT_LIMIT as i64, HOT_LENGTH);
    let fleeting = sliding(1, Micros(20));
    for round in 0_usize.. {
        let now = BootClock.now();
        // Should the parent die, nobody kills us.
        if now > until {
            return;
        }
        let key = round % HOT;
        let ask = |key: &[u8], limit: &Limit| {
            let answer = store.decide(&question(Key::unnamed(key), limit, Ask::take(1)));
            if answer.is_err() {
                log.faults().fetch_add(1, SeqCst);
            }
            answer.ok().filter(|answer| answer.decision.allowed)
        };
        if let Some(answer) = ask(&[key as u8], &hot) {
            log.add(key, answer.at);
        }
        // The same new key for all workers at about the same time.
        ask(&(now.0 / 50).to_le_bytes(), &fleeting);
    }
}

#[test]
fn killed_workers_leave_windows_whole() {
    let mapping = Mapping::anonymous(SIZE, BootClock.now()).expect("a mapping");
    let store = SharedMemory::new(Arc::new(Table::new(mapping)));
    let log = Log::new();
    let start = BootClock.now();
    let until = start.after(Micros(120 * SECOND));
    let mut workers = Workers::default();
    let mut rng = Rng::seeded(1);
    for number in 0..KILLS + WORKERS {
        workers.start(number, || hammer_until_killed(&store, &log, until));
        if workers.count() > WORKERS {
            std::thread::sleep(Duration::from_micros(rng.below(4000)));
            workers.kill(rng.below(WORKERS as u64) as usize);
        }
    }
    drop(workers);
    let elapsed = BootClock.now().since(start).0;

    assert_eq!(log.faults().load(SeqCst), 0, "a worker found no desk");
    let limit = sliding(HOT_LIMIT as i64, HOT_LENGTH);
    for key in 0..HOT {
        let mut times = log.times(key);
        assert_bound(&mut times, HOT_LIMIT, HOT_LENGTH);
        let due = HOT_LIMIT as u64 * elapsed / HOT_LENGTH.0;
        assert!(times.len() as u64 > due / 3, "{} of {due}", times.len());
        let key = [key as u8];
        let question = question(Key::unnamed(&key), &limit, Ask::take(1));
        // Nothing to wait for but the window.
        while !store.decide(&question).expect("a desk").decision.allowed {
            std::thread::sleep(Duration::from_millis(1));
            assert!(BootClock.now() < until, "key {key:?} is stuck");
        }
    }
    let status = store.status().shared_memory.expect("a table");
    assert_eq!(status.evictions, 0);
}
