//! `Sluice\Source`, `Sluice\Failure` and `Sluice\Period`.

use std::ffi::CStr;

use ext_php_rs::ffi::zend_object;

use crate::limit::Period;
use crate::php::class::{Class, register_enum};
use crate::php::signature::Type;
use crate::php::zend;
use crate::store::{Failure, Source};

static SOURCE: Class = Class::new();
static FAILURE: Class = Class::new();
static PERIOD: Class = Class::new();

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

const FAILURES: [(Failure, &CStr, &str); 4] = [
    (Failure::Local, c"Local", "local"),
    (Failure::Allow, c"Allow", "allow"),
    (Failure::Deny, c"Deny", "deny"),
    (Failure::Throw, c"Throw", "throw"),
];

const PERIODS: [(Period, &CStr, &str); 4] = [
    (Period::Hour, c"Hour", "hour"),
    (Period::Day, c"Day", "day"),
    (Period::Week, c"Week", "week"),
    (Period::Month, c"Month", "month"),
];

/// Parameters of these enums.
pub const FAILURE_TYPE: Type = Type::class("Sluice\\Failure");
pub const PERIOD_TYPE: Type = Type::class("Sluice\\Period");

pub fn register() {
    register_enum(&SOURCE, c"Sluice\\Source", &SOURCES);
    register_enum(&FAILURE, c"Sluice\\Failure", &FAILURES);
    register_enum(&PERIOD, c"Sluice\\Period", &PERIODS);
}

/// Which failure policy an object is, if it is one.
pub fn failure_of(object: *mut zend_object) -> Option<Failure> {
    case_of(object, &FAILURE, &FAILURES)
}

/// Which period an object is, if it is one.
pub fn period_of(object: *mut zend_object) -> Option<Period> {
    case_of(object, &PERIOD, &PERIODS)
}

fn case_of<T: Copy>(
    object: *mut zend_object,
    class: &Class,
    cases: &[(T, &'static CStr, &'static str)],
) -> Option<T> {
    // SAFETY: a live object. There is one object per case and request, and PHP
    // gives the same one whenever it is asked.
    cases.iter().find_map(|(case, name, _)| unsafe {
        let is_enum = (*object).ce == class.entry();
        (is_enum && zend::zend_enum_get_case_cstr(class.entry(), name.as_ptr()) == object)
            .then_some(*case)
    })
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
