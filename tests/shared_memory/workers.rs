//! Forked workers that may be killed at any time, and memory that they share.

use std::sync::atomic::AtomicU64;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};
use sluice::store::fork::after_fork;

/// Numbers that forked processes share; zeros at first.
pub struct SharedNumbers {
    at: *const AtomicU64,
    count: usize,
}

impl SharedNumbers {
    /// So many of them. Memory is taken when they are first used.
    pub fn new(count: usize) -> Self {
        // SAFETY: new pages at an address of the kernel's choice.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                count * size_of::<AtomicU64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(at, libc::MAP_FAILED, "no memory");
        Self {
            at: at.cast(),
            count,
        }
    }

    /// All of them.
    pub fn all(&self) -> &[AtomicU64] {
        // SAFETY: the pages stay mapped until this is dropped, are aligned,
        // large enough, start as zeros, and everybody uses atomics.
        unsafe { std::slice::from_raw_parts(self.at, self.count) }
    }
}

impl Drop for SharedNumbers {
    fn drop(&mut self) {
        let size = self.count * size_of::<AtomicU64>();
        // SAFETY: mapped by us, and no reference outlives `self`.
        unsafe { libc::munmap(self.at.cast_mut().cast(), size) };
    }
}

/// Workers that run; whatever happens, none outlives the test.
#[derive(Default)]
pub struct Workers(Vec<(Pid, usize)>);

impl Workers {
    /// Starts the worker of this number.
    pub fn start(&mut self, number: usize, work: impl FnOnce()) {
        // SAFETY: the child calls `work` and nothing else, which uses memory
        // that is mapped already, atomics and the clock: no allocation, no
        // lock that another thread could have held, no return.
        match unsafe { fork() }.expect("a process") {
            ForkResult::Parent { child } => self.0.push((child, number)),
            ForkResult::Child => {
                after_fork();
                work();
                // SAFETY: ends the process at once and runs nothing of ours.
                unsafe { libc::_exit(0) };
            }
        }
    }

    /// How many run.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The number of the worker at this index.
    pub fn number(&self, index: usize) -> usize {
        self.0[index].1
    }

    /// Kills the worker at this index, and waits until it is dead.
    pub fn kill(&mut self, index: usize) {
        let (worker, _) = self.0.swap_remove(index);
        kill(worker, Signal::SIGKILL).expect("our own child takes signals");
        waitpid(worker, None).expect("our own child can be waited for");
    }

    /// Waits for the worker at this index to end by itself.
    pub fn wait_for(&mut self, index: usize) {
        let (worker, _) = self.0.swap_remove(index);
        waitpid(worker, None).expect("our own child can be waited for");
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        while self.count() > 0 {
            self.kill(0);
        }
    }
}
