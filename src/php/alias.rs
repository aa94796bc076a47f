//! Two global names, `TokenBucketLimiter` and `fixed_window_limit`, that yield
//! to an application's own.
//!
//! An alias registered at start would make `class TokenBucketLimiter {}` of an
//! application a fatal error. So the name is given only when a lookup has asked
//! every autoloader and found nothing, and then for the rest of the request.

use std::ffi::c_char;

use ext_php_rs::ffi::{zend_class_entry, zend_string};

use super::class::Class;
use super::surface::{fixed_window_limiter, token_bucket_limiter};
use super::{errors, zend};

type Autoload = unsafe extern "C" fn(*mut zend_string, *mut zend_string) -> *mut zend_class_entry;

/// What looked for classes before us; set once, in MINIT.
static mut ORIGINAL: Option<Autoload> = None;

/// Puts itself behind PHP's autoloading.
pub fn register() {
    // SAFETY: in MINIT, before any thread or request.
    unsafe {
        ORIGINAL = zend::zend_autoload;
        zend::zend_autoload = Some(autoload);
    }
}

fn class_of(name: &[u8]) -> Option<&'static Class> {
    match name {
        b"tokenbucketlimiter" => Some(&token_bucket_limiter::CLASS),
        b"fixed_window_limit" => Some(&fixed_window_limiter::CLASS),
        _ => None,
    }
}

unsafe extern "C" fn autoload(
    name: *mut zend_string,
    lower: *mut zend_string,
) -> *mut zend_class_entry {
    // SAFETY: PHP asks with two live strings; ORIGINAL is constant after MINIT.
    unsafe {
        if let Some(original) = ORIGINAL {
            let found = original(name, lower);
            if !found.is_null() {
                return found;
            }
        }
        let lower = zend::bytes_of(lower);
        let (Some(class), true) = (class_of(lower), errors::none_pending()) else {
            return std::ptr::null_mut();
        };
        if !is_preloading() {
            // Known from now on to type hints and instanceof too, which do not
            // autoload. PHP drops it with the request's own classes.
            zend::zend_register_class_alias_ex(
                lower.as_ptr().cast::<c_char>(),
                lower.len(),
                class.entry(),
                false,
            );
        }
        class.entry()
    }
}

/// Whether opcache is preloading. What is in the class table then would stay
/// for ever, and opcache takes an internal class there for the end of the
/// application's own.
fn is_preloading() -> bool {
    const ZEND_COMPILE_PRELOAD: u32 = 1 << 15;
    // SAFETY: PHP's globals live as long as the process.
    unsafe {
        zend::raw::ext_php_rs_compiler_globals()
            .as_ref()
            .is_some_and(|globals| globals.compiler_options & ZEND_COMPILE_PRELOAD != 0)
    }
}
