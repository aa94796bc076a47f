//! Whether this process was forked off another since something was made.
//!
//! `getpid` would tell too, but it is a system call.

use std::sync::atomic::{AtomicU32, Ordering};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// To be called in every child after a fork: what was connected or taken before
/// belongs to the parent.
pub fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A number that differs between a process and the children it forks.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}
