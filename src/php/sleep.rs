//! Sleeping in the middle of a call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::zend;

/// The longest that a signal which came between two looks goes unseen.
const SLICE: Duration = Duration::from_millis(100);

/// Sleeps; `false` if PHP has something to see to, such as a signal or the end
/// of its time.
pub fn sleep(time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        if is_interrupted() {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        let slice = left.min(SLICE);
        let slice = libc::timespec {
            tv_sec: 0,
            tv_nsec: libc::c_long::from(slice.subsec_nanos()),
        };
        // SAFETY: a valid time, and no wish to know what was left of it.
        if unsafe { libc::nanosleep(&raw const slice, std::ptr::null_mut()) } != 0 {
            return false;
        }
    }
}

/// Whether a signal has come that PHP has yet to see to, or its time is up. One
/// that came between two sleeps cuts none of them short.
fn is_interrupted() -> bool {
    // SAFETY: PHP's globals live as long as the request. The field is one byte,
    // a bool that signal handlers set.
    unsafe {
        let globals = zend::raw::ext_php_rs_executor_globals();
        let flag = &raw const (*globals).vm_interrupt;
        (*flag.cast::<AtomicBool>()).load(Ordering::Relaxed)
    }
}
