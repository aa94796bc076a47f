//! What happens at start, at a fork, and between requests.

use super::call::SUCCESS;
use super::{alias, errors, settings, stores, surface, zend};
use crate::store::redis;

/// MINIT. Never panics: nothing here unwinds into PHP.
pub fn startup(_kind: i32, module: i32) -> i32 {
    settings::register(module);
    errors::register();
    surface::register();
    alias::register();
    if let Err(error) = stores::map_shared_memory() {
        zend::warn(&format!(
            "sluice has no shared memory, so each process counts for itself: {error}"
        ));
    }
    // SAFETY: the handler only counts.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    SUCCESS
}

unsafe extern "C" fn in_child() {
    redis::after_fork();
}

/// RSHUTDOWN: a test's fake must not outlive its request.
pub extern "C" fn request_shutdown(_kind: i32, _module: i32) -> i32 {
    stores::restore();
    SUCCESS
}
