//! Who is alive: each process that holds something in shared memory has a
//! number, and a mutex there that it locks once and never unlocks.
//!
//! The mutex is robust: the kernel marks it when its owner dies, execs or
//! exits, whatever ended it, and a forked child does not hold it. Nobody ever
//! waits for it, so it cannot hang anyone; whether its owner lives is one load.

use std::cell::{RefCell, UnsafeCell};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::mapping::Mapping;
use crate::store::fork;

/// The place of one worker in the mapping.
#[repr(C, align(64))]
pub(super) struct Desk {
    /// Locked by its owner, for as long as that lives.
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    /// Counts the owners, so that what an earlier one left is known as such.
    incarnation: AtomicU32,
    /// The spare record of this worker, see `windows`.
    pub spare: AtomicU32,
    /// From which version of a head the owner was about to swap it.
    pub intent_version: AtomicU32,
    /// Which head that is, and the record that it named; 0 for none.
    pub intent: AtomicU64,
}

// SAFETY: the mutex is made for several processes; the rest is atomic.
unsafe impl Sync for Desk {}

/// A worker that is or was: its number, and which owner of that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worker {
    pub number: u32,
    pub incarnation: u32,
}

/// Bits that say who a worker is, in a cell of a permit.
pub(super) const NUMBER_BITS: u32 = 14;
pub(super) const INCARNATION_BITS: u32 = 18;

/// In the first word of a mutex: its owner has died.
const OWNER_DIED: u32 = 0x4000_0000;
/// In the first word: the owner's thread.
const OWNER: u32 = 0x3fff_ffff;

thread_local! {
    /// The desks of this thread: of which mapping each, after how many forks,
    /// and who.
    static MINE: RefCell<Vec<(u64, u32, Worker)>> = const { RefCell::new(Vec::new()) };
}

impl Desk {
    /// Makes the mutex. Only where nobody else sees the desk yet.
    pub fn initialise(&self) {
        // SAFETY: the memory is ours alone; attributes are made, used and
        // destroyed here.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            libc::pthread_mutexattr_init(&raw mut attributes);
            libc::pthread_mutexattr_setpshared(&raw mut attributes, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_mutexattr_setrobust(&raw mut attributes, libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutex_init(self.mutex.get(), &raw const attributes);
            libc::pthread_mutexattr_destroy(&raw mut attributes);
        }
    }

    fn is_held(&self) -> bool {
        // The futex is the first word of glibc's mutex; musl's starts with a
        // type.
        let futex = usize::from(cfg!(target_env = "musl"));
        // SAFETY: within the mutex; others change the word atomically, so it
        // is read that way.
        let word = unsafe { (*self.mutex.get().cast::<AtomicU32>().add(futex)).load(Acquire) };
        word & OWNER != 0 && word & OWNER_DIED == 0
    }

    /// The word of a mutex that says of what kind it is.
    fn kind_of(mutex: *mut libc::pthread_mutex_t) -> *mut AtomicU32 {
        // glibc: lock, count, owner, nusers, kind; musl starts with the type.
        let at = if cfg!(target_env = "musl") { 0 } else { 4 };
        mutex.cast::<AtomicU32>().wrapping_add(at)
    }

    /// Puts the kind right before the mutex is tried. In a file that something
    /// else has written to it may be any, and the C library aborts on some
    /// kinds (priority protection, inheritance, elision).
    fn repair(&self) {
        static KIND: OnceLock<u32> = OnceLock::new();
        let kind = *KIND.get_or_init(|| {
            // SAFETY: any bytes are a desk; `initialise` makes its mutex.
            let fresh: Self = unsafe { std::mem::zeroed() };
            fresh.initialise();
            // SAFETY: within the mutex.
            unsafe { (*Self::kind_of(fresh.mutex.get())).load(Relaxed) }
        });
        // SAFETY: within the mutex; in an intact one this changes nothing.
        unsafe { (*Self::kind_of(self.mutex.get())).store(kind, Relaxed) };
    }

    fn take(&self) -> bool {
        self.repair();
        // SAFETY: an initialised mutex, which is tried and never waited for.
        unsafe {
            match libc::pthread_mutex_trylock(self.mutex.get()) {
                0 => true,
                libc::EOWNERDEAD => libc::pthread_mutex_consistent(self.mutex.get()) == 0,
                _ => false,
            }
        }
    }

    fn leave(&self) {
        // SAFETY: only the thread that took the mutex calls this.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
    }
}

impl Mapping {
    /// Who this thread is here. It takes a desk the first time, and again after
    /// a fork. `None` if all desks are taken by the living.
    pub(super) fn worker(&self) -> Option<Worker> {
        let (here, forks) = (self.id(), fork::forks());
        let mine = MINE.with_borrow(|mine| {
            let mut mine = mine.iter();
            mine.find_map(|(id, made, worker)| (*id == here && *made == forks).then_some(*worker))
        });
        if mine.is_some() {
            return mine;
        }
        let desks = self.desks();
        // Spread over the desks, so that workers started together do not all
        // try the same ones.
        let start = self.next_claim() as usize % desks.len();
        let number = (0..desks.len())
            .map(|step| (start + step) % desks.len())
            .find(|number| {
                let desk = &desks[*number];
                if desk.is_held() || !desk.take() {
                    return false;
                }
                // Where nobody can tell its spare, another desk will do.
                let whole = self.recover_spare(desk);
                if !whole {
                    desk.leave();
                }
                whole
            })?;
        let desk = &desks[number];
        let incarnation =
            desk.incarnation.load(Relaxed).wrapping_add(1) & ((1 << INCARNATION_BITS) - 1);
        desk.incarnation.store(incarnation, Release);
        let worker = Worker {
            number: number as u32,
            incarnation,
        };
        MINE.with_borrow_mut(|mine| {
            mine.retain(|(_, made, _)| *made == forks);
            mine.push((here, forks, worker));
        });
        Some(worker)
    }

    /// Whether that owner of that desk still lives.
    pub(super) fn is_alive(&self, worker: Worker) -> bool {
        self.desks()
            .get(worker.number as usize)
            .is_some_and(|desk| {
                desk.incarnation.load(Acquire) == worker.incarnation && desk.is_held()
            })
    }

    /// Leaves this thread's desk, before the mapping goes.
    pub(super) fn leave_desk(&self) {
        let (here, forks) = (self.id(), fork::forks());
        // The thread may be at its end, and the list gone.
        let _ = MINE.try_with(|mine| {
            mine.borrow_mut().retain(|(id, made, worker)| {
                let leaves = *id == here && *made == forks;
                if leaves {
                    self.desks()[worker.number as usize].leave();
                }
                !leaves
            });
        });
    }
}
