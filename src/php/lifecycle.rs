//! What happens at start, at a fork, and between requests.

use std::ffi::c_int;

use super::call::SUCCESS;
use super::{alias, directives, errors, gate, permits, policies, stores, surface, zend};
use crate::store::fork;

/// MINIT. Never panics: nothing here unwinds into PHP.
pub fn startup(_kind: i32, module: i32) -> i32 {
    directives::register(module);
    errors::register();
    surface::register();
    alias::register();
    policies::load();
    if let Err(error) = stores::map_shared_memory() {
        zend::warn(&format!(
            "sluice has no shared memory, so each process counts for itself: {error}"
        ));
    }
    gate::counters::share();
    gate::install();
    hook_sapi();
    // SAFETY: the handler only counts.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    SUCCESS
}

/// What the SAPI does at the end of a request; set once, in MINIT.
static mut SAPI_DEACTIVATE: Option<unsafe extern "C" fn() -> c_int> = None;

/// Has permits given back where the SAPI ends a request. Workers that serve
/// many requests in one go (`FrankenPHP`) have no RSHUTDOWN in between.
fn hook_sapi() {
    // SAFETY: in MINIT, before any thread or request; PHP's description of its
    // SAPI lives as long as the process.
    unsafe {
        if let Some(sapi) = zend::raw::ext_php_rs_sapi_module().as_mut() {
            // Apache starts PHP again in the same process when it reloads.
            let ours = sapi_deactivate as *const () as usize;
            if sapi.deactivate.is_none_or(|hook| hook as usize != ours) {
                SAPI_DEACTIVATE = sapi.deactivate;
                sapi.deactivate = Some(sapi_deactivate);
            }
        }
    }
}

unsafe extern "C" fn sapi_deactivate() -> c_int {
    gate::deactivate();
    permits::release_all();
    // SAFETY: constant after MINIT; called as PHP would have called it.
    unsafe { SAPI_DEACTIVATE.map_or(SUCCESS, |original| original()) }
}

unsafe extern "C" fn in_child() {
    fork::after_fork();
}

/// RINIT.
pub extern "C" fn request_startup(_kind: i32, _module: i32) -> i32 {
    gate::request_startup();
    SUCCESS
}

/// RSHUTDOWN, whatever ended the request: permits are given back, and a test's
/// fake must not outlive its request.
pub extern "C" fn request_shutdown(_kind: i32, _module: i32) -> i32 {
    gate::request_shutdown();
    permits::release_all();
    stores::restore();
    SUCCESS
}
