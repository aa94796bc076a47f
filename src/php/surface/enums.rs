//! `Sluice\Source` and `Sluice\Failure`.

use std::ffi::CStr;

use ext_php_rs::ffi::zend_object;

use crate::php::class::{Class, register_enum};
use crate::php::zend;
use crate::store::Source;

static SOURCE: Class = Class::new();
static FAILURE: Class = Class::new();

/// The cases of `Source`: the names in PHP, and the values they are backed by.
const SOURCES: [(Source, &CStr, &str); 8] = [
    (Source::SharedMemory, c"SharedMemory", "shared-memory"),
    (Source::Redis, c"Redis", "redis"),
    (Source::NearState, c"NearState", "near-state"),
    (Source::Lease, c"Lease", "lease"),
    (Source::Fallback, c"Fallback", "fallback"),
    (Source::FailedOpen, c"FailedOpen", "failed-open"),
    (Source::FailedClosed, c"FailedClosed", "failed-closed"),
    (Source::Memory, c"Memory", "memory"),
];

const FAILURES: [(&CStr, &str); 4] = [
    (c"Local", "local"),
    (c"Allow", "allow"),
    (c"Deny", "deny"),
    (c"Throw", "throw"),
];

pub fn register() {
    let sources = SOURCES.map(|(_, name, value)| (name, value));
    register_enum(&SOURCE, c"Sluice\\Source", &sources);
    register_enum(&FAILURE, c"Sluice\\Failure", &FAILURES);
}

/// The case of the enum, which PHP owns.
pub fn source_case(source: Source) -> *mut zend_object {
    let (_, name, _) = SOURCES[source as usize];
    // SAFETY: in a request, after MINIT; the enum has this case.
    unsafe { zend::zend_enum_get_case_cstr(SOURCE.entry(), name.as_ptr()) }
}

/// The value of the case.
pub fn value_of(source: Source) -> &'static str {
    SOURCES[source as usize].2
}

#[cfg(test)]
mod tests {
    use super::SOURCES;

    #[test]
    fn every_source_is_found_under_its_own_number() {
        for (index, (source, ..)) in SOURCES.iter().enumerate() {
            assert_eq!(*source as usize, index);
        }
    }
}
