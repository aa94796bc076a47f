//! The kernel's clock of this boot.

use crate::limit::Micros;
use crate::store::clock::Clock;

/// `CLOCK_BOOTTIME`: never steps, and goes on while the machine sleeps, so that
/// every process of the host reads the same time whenever it was started.
#[derive(Clone, Copy, Debug, Default)]
pub struct BootClock;

impl Clock for BootClock {
    fn now(&self) -> Micros {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is a valid timespec for the call to fill; the clock
        // exists since Linux 2.6.39, so the call cannot fail.
        unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
        Micros(time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000)
    }
}
