//! Exceptions: `Sluice\Exception` and the classes under it.

use std::ffi::CString;

use ext_php_rs::ffi::{zend_ce_error, zend_ce_throwable, zend_ce_value_error, zend_class_entry};

use super::call::Thrown;
use super::class::{Class, register_class, register_interface};
use super::zend;

static STORE: Class = Class::new();
static CONFIG: Class = Class::new();
static DENIED: Class = Class::new();

/// Registers the interface and the classes.
pub fn register() {
    // SAFETY: in MINIT, after PHP's own classes.
    unsafe {
        let interface = register_interface("Sluice\\Exception", &[]);
        zend::zend_class_implements(interface, 1, zend_ce_throwable);
        for (class, name, parent) in [
            (
                &STORE,
                "Sluice\\StoreException",
                zend::spl_ce_RuntimeException,
            ),
            (
                &DENIED,
                "Sluice\\DeniedException",
                zend::spl_ce_RuntimeException,
            ),
            (
                &CONFIG,
                "Sluice\\ConfigException",
                zend::spl_ce_InvalidArgumentException,
            ),
        ] {
            let entry = register_class(name, &[], parent, 0);
            zend::zend_class_implements(entry, 1, interface);
            class.set(entry);
        }
    }
}

/// The store could not be asked, and the policy is to say so.
pub fn throw_store(message: &str) -> Thrown {
    throw(STORE.entry(), message)
}

/// There was no permit to run something with.
pub fn throw_denied(message: &str) -> Thrown {
    throw(DENIED.entry(), message)
}

/// What argument `number` configures cannot be used.
pub fn throw_config(number: u32, message: &str) -> Thrown {
    let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
    // SAFETY: a format with one string, and that string.
    unsafe {
        zend::zend_argument_error(CONFIG.entry(), number, c"%s".as_ptr(), message.as_ptr());
    }
    Thrown
}

/// Argument `number` is outside its range: a `ValueError`.
pub fn throw_value(number: usize, message: &str) -> Thrown {
    let message = CString::new(message).unwrap_or_default();
    // SAFETY: a format with one string, and that string.
    unsafe { zend::zend_argument_value_error(number as u32, c"%s".as_ptr(), message.as_ptr()) };
    Thrown
}

/// The object itself is not what the call needs: a `ValueError`.
pub fn throw_value_error(message: &str) -> Thrown {
    // SAFETY: PHP's own class, constant after start.
    throw(unsafe { zend_ce_value_error }, message)
}

/// A call that cannot be made on this object.
pub fn throw_error(message: &str) -> Thrown {
    // SAFETY: PHP's own class, constant after start.
    throw(unsafe { zend_ce_error }, message)
}

/// Whether no exception is on its way.
pub fn none_pending() -> bool {
    // SAFETY: PHP's globals live as long as the request.
    unsafe {
        zend::raw::ext_php_rs_executor_globals()
            .as_ref()
            .is_some_and(|globals| globals.exception.is_null())
    }
}

/// A panic was caught: a defect of ours, which must not end the worker.
pub fn throw_internal() {
    throw_error("Sluice met an internal error; please report it with the message on stderr");
}

fn throw(class: *mut zend_class_entry, message: &str) -> Thrown {
    let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
    // SAFETY: a live class that is Throwable; the message is copied.
    unsafe { zend::raw::zend_throw_exception(class, message.as_ptr(), 0) };
    Thrown
}
