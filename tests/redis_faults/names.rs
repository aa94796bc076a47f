//! Names that take for ever to resolve: the library's `getaddrinfo`, but for
//! hosts under `hangs.test`, which are 127.0.0.1 once somebody says so.

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a name that hangs ends with.
pub const HANGS: &str = "hangs.test";

/// Those of them that resolve after all.
static RESOLVED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Has a name that hung be 127.0.0.1 from now on.
pub fn let_resolve(name: &str) {
    resolved().push(name.to_owned());
}

fn resolved() -> MutexGuard<'static, Vec<String>> {
    RESOLVED.lock().unwrap_or_else(PoisonError::into_inner)
}

type GetAddrInfo = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const libc::addrinfo,
    *mut *mut libc::addrinfo,
) -> c_int;

/// Stands before the library's, for this process only.
///
/// # Safety
/// As for the library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const libc::addrinfo,
    found: *mut *mut libc::addrinfo,
) -> c_int {
    // SAFETY: the library has a function of that name and type; a node that is
    // given is a string.
    unsafe {
        let real = libc::dlsym(libc::RTLD_NEXT, c"getaddrinfo".as_ptr());
        let real: GetAddrInfo = std::mem::transmute(real);
        if node.is_null() {
            return real(node, service, hints, found);
        }
        let name = CStr::from_ptr(node).to_string_lossy();
        if !name.ends_with(HANGS) {
            return real(node, service, hints, found);
        }
        while !resolved().iter().any(|resolved| *resolved == name) {
            std::thread::sleep(Duration::from_millis(5));
        }
        real(c"127.0.0.1".as_ptr(), service, hints, found)
    }
}
