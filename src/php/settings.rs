//! What php.ini says, as the rest of this room reads it.

use std::cell::RefCell;
use std::ffi::CStr;
use std::time::Duration;

use super::zend;
use crate::limit::{Fraction, Micros};
use crate::store::redis::Budget;
use crate::store::{Enforcement, Enforcing, Failure, OnFailure};

/// What a decision needs at every call.
#[derive(Clone, Copy, Default)]
pub struct Hot {
    pub enforcement: Enforcement,
    pub on_failure: OnFailure,
}

/// What is needed when a store is made, or for headers.
#[derive(Clone)]
pub struct Settings {
    /// A valid DSN, or empty for shared memory.
    pub store: String,
    pub prefix: String,
    pub timeout: Micros,
    pub connect_timeout: Option<Micros>,
    /// How long the near state is believed.
    pub near: Micros,
    pub shm_size: usize,
    pub shm_path: String,
    pub headers: Headers,
    /// The zone of quotas that name none; empty for PHP's own.
    pub timezone: String,
    /// The file of policies; empty for none.
    pub config: String,
}

/// The families of headers that `Decision::headers()` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// `RateLimit` and `RateLimit-Policy` of the IETF draft.
    pub ietf: bool,
    /// `X-RateLimit-Limit`, `-Remaining`, `-Reset`.
    pub x: bool,
}

impl Settings {
    const fn new() -> Self {
        Self {
            store: String::new(),
            prefix: String::new(),
            timeout: Micros(50_000),
            connect_timeout: None,
            near: Micros(1_000_000),
            shm_size: 32 << 20,
            shm_path: String::new(),
            headers: Headers {
                ietf: true,
                x: true,
            },
            timezone: String::new(),
            config: String::new(),
        }
    }

    /// The time a call to Redis may take.
    pub fn budget(&self) -> Budget {
        let duration = |time: Micros| Duration::from_micros(time.0);
        Budget {
            timeout: duration(self.timeout),
            connect: self.connect_timeout.map(duration),
        }
    }
}

thread_local! {
    static HOT: RefCell<Hot> = const {
        RefCell::new(Hot {
            enforcement: Enforcement { mode: Enforcing::Enforce, scale: Fraction::ONE },
            on_failure: OnFailure { policy: Failure::Local, local_share: Fraction::ONE },
        })
    };
    static SETTINGS: RefCell<Settings> = const { RefCell::new(Settings::new()) };
}

/// Lends the settings of every decision.
#[inline]
pub fn with_hot<T>(use_it: impl FnOnce(&Hot) -> T) -> T {
    HOT.with_borrow(use_it)
}

/// A copy of a part of the other settings.
pub fn get<T>(part: impl FnOnce(&Settings) -> T) -> T {
    SETTINGS.with_borrow(part)
}

/// Changes a setting; which store is the default may change with it.
pub fn set(change: impl FnOnce(&mut Settings)) {
    SETTINGS.with_borrow_mut(change);
    super::stores::forget_default();
}

/// Changes a setting of every decision.
pub fn set_hot(change: impl FnOnce(&mut Hot)) {
    HOT.with_borrow_mut(change);
}

/// The zone of a quota that names none: `sluice.timezone`, else PHP's
/// `date.timezone`, else UTC.
pub fn timezone() -> String {
    let ours = get(|settings| settings.timezone.clone());
    if !ours.is_empty() {
        return ours;
    }
    let name = c"date.timezone";
    // SAFETY: PHP gives a string that it owns, or null.
    let php = unsafe {
        let text =
            zend::zend_ini_string_ex(name.as_ptr(), name.count_bytes(), 0, std::ptr::null_mut());
        if text.is_null() {
            String::new()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    if php.is_empty() {
        "UTC".to_owned()
    } else {
        php
    }
}

/// A part of a limit: above 0, at most 1.
pub fn share(share: f64) -> Option<Fraction> {
    (0.000_001..=1.0)
        .contains(&share)
        .then(|| Fraction::of_float(share))
        .flatten()
}
