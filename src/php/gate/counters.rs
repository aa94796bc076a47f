//! What the gate has done, counted over all workers since the start.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use once_cell::sync::OnceCell;

/// One number each. Every bit pattern is a value.
#[repr(C)]
pub struct Counters {
    /// Requests that a rule was about, and that went on.
    pub allowed: AtomicU64,
    /// Requests that a rule refused.
    pub refused: AtomicU64,
    /// Requests that a rule would have refused, and that went on.
    pub observed: AtomicU64,
    /// Requests that passed by the allow list.
    pub allow_listed: AtomicU64,
    /// Requests that the deny list refused.
    pub deny_listed: AtomicU64,
    /// Requests refused as the store could not be asked.
    pub failed: AtomicU64,
}

/// As people and PHP read them.
pub const NAMES: [&str; 6] = [
    "allowed",
    "refused",
    "observed",
    "allowListed",
    "denyListed",
    "failed",
];

static SHARED: OnceCell<&'static Counters> = OnceCell::new();

/// Stands in where the system has no memory to share.
static ALONE: Counters = Counters {
    allowed: AtomicU64::new(0),
    refused: AtomicU64::new(0),
    observed: AtomicU64::new(0),
    allow_listed: AtomicU64::new(0),
    deny_listed: AtomicU64::new(0),
    failed: AtomicU64::new(0),
};

/// Makes the counters. In MINIT, before php-fpm forks its workers.
pub fn share() {
    // SAFETY: a new mapping, page-aligned and zeroed, larger than the counters,
    // which stays for as long as the process.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Counters>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page != libc::MAP_FAILED {
        // SAFETY: as above.
        let _ = SHARED.set(unsafe { &*page.cast::<Counters>() });
    }
}

/// The counters.
pub fn counters() -> &'static Counters {
    SHARED.get().copied().unwrap_or(&ALONE)
}

/// One more.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// All of them, in the order of `NAMES`.
pub fn read() -> [u64; 6] {
    let counters = counters();
    [
        &counters.allowed,
        &counters.refused,
        &counters.observed,
        &counters.allow_listed,
        &counters.deny_listed,
        &counters.failed,
    ]
    .map(|counter| counter.load(Relaxed))
}
