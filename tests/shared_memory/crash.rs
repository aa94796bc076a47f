//! A worker that is killed, anywhere and at any time, leaves nothing that
//! others would have to wait for, and no tokens that were not there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};
use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::Store;
use sluice::store::clock::Clock;
use sluice::store::shm::{BootClock, Mapping, SharedMemory, Table};

use crate::support::limits::{SECOND, bucket, question, short_window};
use crate::support::rng::Rng;

const KILLS: usize = 1000;
const WORKERS: usize = 3;
const HOT: usize = 4;
const CAPACITY: i64 = 100;
const RATE: i64 = 5000;

/// What workers were let do with the hot keys, as they counted it. A page that
/// forked processes share.
struct Tally(*const [AtomicU64; HOT]);

impl Tally {
    fn shared() -> Self {
        // SAFETY: a new page at an address of the kernel's choice.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(page, libc::MAP_FAILED, "no memory");
        Self(page.cast())
    }

    fn of(&self, key: usize) -> &AtomicU64 {
        // SAFETY: the page stays mapped until this is dropped, is aligned,
        // large enough, starts as zeros, and everybody uses atomics.
        unsafe { &(*self.0)[key] }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and no reference outlives `self`.
        unsafe { libc::munmap(self.0.cast_mut().cast(), 4096) };
    }
}

/// Workers that run; whatever happens, none outlives the test.
#[derive(Default)]
struct Workers(Vec<Pid>);

impl Workers {
    fn start(&mut self, work: impl FnOnce()) {
        // SAFETY: the child calls `work` and nothing else, which uses memory
        // that is mapped already, atomics and the clock: no allocation, no
        // lock that another thread could have held, no return.
        match unsafe { fork() }.expect("a process") {
            ForkResult::Parent { child } => self.0.push(child),
            ForkResult::Child => {
                work();
                // SAFETY: ends the process at once and runs nothing of ours.
                unsafe { libc::_exit(0) };
            }
        }
    }

    fn kill(&mut self, index: usize) {
        let worker = self.0.swap_remove(index);
        kill(worker, Signal::SIGKILL).expect("our own child takes signals");
        waitpid(worker, None).expect("our own child can be waited for");
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        while !self.0.is_empty() {
            self.kill(0);
        }
    }
}

/// Asks for hot keys and for ever new ones until it is killed.
fn hammer(store: &SharedMemory, tally: &Tally, number: usize, until: Micros) {
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
            tally.of(key).fetch_add(1, SeqCst);
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
    let tally = Tally::shared();
    let start = BootClock.now();
    let until = start.after(Micros(120 * SECOND));

    let mut workers = Workers::default();
    let mut rng = Rng::seeded(1);
    for number in 0..KILLS + WORKERS {
        workers.start(|| hammer(&store, &tally, number, until));
        if workers.0.len() > WORKERS {
            // Somewhere in its work, for it has had the time to start it.
            std::thread::sleep(Duration::from_micros(rng.below(4000)));
            workers.kill(rng.below(WORKERS as u64) as usize);
        }
    }
    drop(workers);

    let limit = bucket(CAPACITY, RATE);
    for key in 0..HOT {
        let admitted = tally.of(key).load(SeqCst);
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
