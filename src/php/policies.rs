//! The file that `sluice.config` names: policies, and the gate's rules.
//!
//! Read at start, looked at again at most once a second, when a policy is asked
//! for or a request begins. A file that turns out broken is told to the log,
//! and the last good one stays in force.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use super::{claims, settings, zend};
use crate::gate::{File, Gate};
use crate::store::policies::Policy;

/// How often the file is looked at, in seconds.
const LOOK_AGAIN: i64 = 1;

/// What tells one version of a file from another, its permissions included.
type Version = (u64, u64, u64, i64, i64);

#[derive(Default)]
struct Kept {
    path: String,
    version: Option<Version>,
    looked_at: Option<i64>,
    file: File,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Reads the file at start, so that a broken one is told at once.
pub fn load() {
    if let Err(messages) = KEPT.with_borrow_mut(Kept::refresh) {
        for message in messages {
            zend::warn(&message);
        }
    }
}

/// The policy of this name, or what there is instead.
pub fn find(name: &str) -> Result<Policy, String> {
    let (found, trouble) = KEPT.with_borrow_mut(|kept| {
        let trouble = kept.refresh().err();
        (kept.find(name), trouble)
    });
    tell(trouble);
    found
}

/// The gate, if there is one.
pub fn gate() -> Option<Rc<Gate>> {
    if settings::get(|settings| settings.config.is_empty()) {
        return None;
    }
    let (gate, trouble) = KEPT.with_borrow_mut(|kept| {
        let trouble = kept.refresh().err();
        (kept.file.gate.clone(), trouble)
    });
    tell(trouble);
    gate
}

/// Tells what is wrong with a file, once for all workers. Not during a borrow:
/// a log handler may be PHP code.
fn tell(trouble: Option<Vec<String>>) {
    for message in trouble.into_iter().flatten() {
        if claims::is_first(b"broken file", message.as_bytes(), claims::HOUR) {
            zend::log(&message);
        }
    }
}

impl Kept {
    fn find(&self, name: &str) -> Result<Policy, String> {
        self.file.policies.get(name).cloned().ok_or_else(|| {
            if self.path.is_empty() {
                return format!(
                    "must be a spec, which starts with a digit, or the name of a policy, and \
                     sluice.config names no file with policies; \"{name}\" given"
                );
            }
            let names = self.file.policies.names();
            let policies = if names.is_empty() {
                format!("a policy, and {} has none", self.path)
            } else {
                format!("one of the policies {} of {}", names.join(", "), self.path)
            };
            format!("must be a spec, which starts with a digit, or {policies}; \"{name}\" given")
        })
    }

    /// Looks at the file, if it is time to, and reads it if it has changed.
    fn refresh(&mut self) -> Result<(), Vec<String>> {
        let now = coarse_seconds();
        let is_new = settings::get(|settings| settings.config != self.path);
        let is_due = self
            .looked_at
            .is_none_or(|looked_at| now - looked_at >= LOOK_AGAIN);
        if !is_new && !is_due {
            return Ok(());
        }
        if is_new {
            *self = Self {
                path: settings::get(|settings| settings.config.clone()),
                ..Self::default()
            };
        }
        self.looked_at = Some(now);
        if self.path.is_empty() {
            return Ok(());
        }
        let explain = |what: &str| format!("sluice.config: {}: {what}", self.path);
        let version = fs::metadata(&self.path)
            .map(|file| {
                let (dev, ino) = (file.dev(), file.ino());
                (dev, ino, file.size(), file.ctime(), file.ctime_nsec())
            })
            .map_err(|error| vec![explain(&error.to_string())])?;
        if self.version == Some(version) {
            return Ok(());
        }
        // Remembered even if it is broken: it is told once.
        self.version = Some(version);
        let text =
            fs::read_to_string(&self.path).map_err(|error| vec![explain(&error.to_string())])?;
        self.file = File::parse(&text).map_err(|errors| {
            let messages = errors.iter().map(|error| explain(&error.to_string()));
            messages.collect::<Vec<_>>()
        })?;
        Ok(())
    }
}

/// Seconds of a clock that is read without a system call, and never steps.
fn coarse_seconds() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    time.tv_sec
}
