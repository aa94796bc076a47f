//! A request as PHP knows it: one small reader per way to ask.

use std::ffi::{CStr, c_char};

use ext_php_rs::types::{ZendHashTable, ZendStr, Zval};

use crate::gate::Request;
use crate::php::zend;

/// The variables that the web server sent, asked of the SAPI one by one, before
/// PHP has made arrays of them.
pub struct Environment(unsafe extern "C" fn(*const c_char, usize) -> *mut c_char);

impl Environment {
    /// Of the request that has begun.
    pub fn now() -> Option<Self> {
        // SAFETY: PHP's description of its SAPI lives as long as the process.
        let sapi = unsafe { zend::raw::ext_php_rs_sapi_module().as_ref()? };
        let environment = Self(sapi.getenv?);
        // Without it there is no request, as while opcache preloads.
        environment
            .variable(c"REQUEST_METHOD")
            .is_some()
            .then_some(environment)
    }
}

impl Request for Environment {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        // SAFETY: a function of the SAPI, called as PHP calls it; what it points
        // to is the request's and lives as long.
        unsafe {
            let value = (self.0)(name.as_ptr(), name.count_bytes());
            (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
        }
    }

    fn most_variables(&self) -> usize {
        most_variables()
    }
}

/// An array such as `$_SERVER`.
pub struct Variables<'a>(pub &'a ZendHashTable);

impl Request for Variables<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        // SAFETY: a live array, and a name of that length; a value of a string
        // lives as long as the array.
        unsafe {
            let value = zend::raw::zend_hash_str_find(self.0, name.as_ptr(), name.count_bytes());
            let value = value.cast::<Zval>().as_ref()?;
            // A loop by reference leaves references in an array.
            let value = value.reference().unwrap_or(value);
            value.zend_str().map(ZendStr::as_bytes)
        }
    }

    fn most_variables(&self) -> usize {
        most_variables()
    }
}

fn most_variables() -> usize {
    // SAFETY: in a request; a number of this thread's globals.
    let most = unsafe { (*zend::raw::ext_php_rs_process_globals()).max_input_vars };
    usize::try_from(most).unwrap_or_default()
}

/// Lends `$_SERVER`, if the request has one.
pub fn with_server_variables<T>(use_it: impl FnOnce(&Variables<'_>) -> T) -> Option<T> {
    // SAFETY: in a request. PHP makes the array when it is first asked for, so
    // it is looked at after that, through a pointer; it then lives as long as the
    // request, and `use_it` calls nothing that changes it.
    let array = unsafe {
        let mut name = ZendStr::new("_SERVER", false);
        zend::raw::zend_is_auto_global(&raw mut *name);
        let globals = zend::raw::ext_php_rs_process_globals();
        let value = &raw const (*globals).http_globals[zend::raw::TRACK_VARS_SERVER as usize];
        (*value.cast::<Zval>()).array()?
    };
    Some(use_it(&Variables(array)))
}
