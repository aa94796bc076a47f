//! The policies of the file that `sluice.config` names.
//!
//! Read at start, looked at again at most every two seconds, when a policy is
//! asked for. A file that turns out broken is told to the log, and the last
//! good one stays in force.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::{settings, zend};
use crate::store::policies::{Policies, Policy};

const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What tells one version of a file from another.
type Version = (u64, u64, i64, i64);

#[derive(Default)]
struct Kept {
    path: String,
    version: Option<Version>,
    looked_at: Option<Instant>,
    policies: Policies,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Reads the file at start, so that a broken one is told at once.
pub fn load() {
    if let Err(message) = KEPT.with_borrow_mut(Kept::refresh) {
        zend::warn(&message);
    }
}

/// The policy of this name, or what there is instead.
pub fn find(name: &str) -> Result<Policy, String> {
    let (found, trouble) = KEPT.with_borrow_mut(|kept| {
        let trouble = kept.refresh().err();
        (kept.find(name), trouble)
    });
    // After the borrow: a log handler may be PHP code.
    if let Some(message) = trouble {
        zend::log(&message);
    }
    found
}

impl Kept {
    fn find(&self, name: &str) -> Result<Policy, String> {
        self.policies.get(name).cloned().ok_or_else(|| {
            if self.path.is_empty() {
                return format!(
                    "must be a spec, which starts with a digit, or the name of a policy, and \
                     sluice.config names no file with policies; \"{name}\" given"
                );
            }
            format!(
                "must be a spec, which starts with a digit, or one of the policies {} of {}; \
                 \"{name}\" given",
                self.policies.names().join(", "),
                self.path
            )
        })
    }

    /// Looks at the file, if it is time to, and reads it if it has changed.
    fn refresh(&mut self) -> Result<(), String> {
        let path = settings::get(|settings| settings.config.clone());
        let is_new = path != self.path;
        let is_due = self
            .looked_at
            .is_none_or(|looked_at| looked_at.elapsed() >= LOOK_AGAIN);
        if !is_new && !is_due {
            return Ok(());
        }
        self.looked_at = Some(Instant::now());
        if is_new {
            *self = Self {
                path: path.clone(),
                looked_at: self.looked_at,
                ..Self::default()
            };
        }
        if path.is_empty() {
            return Ok(());
        }
        let explain = |what: String| format!("sluice.config: {path}: {what}");
        let version = fs::metadata(&path)
            .map(|file| (file.dev(), file.ino(), file.mtime(), file.mtime_nsec()))
            .map_err(|error| explain(error.to_string()))?;
        if self.version == Some(version) {
            return Ok(());
        }
        // Remembered even if it is broken: it is told once.
        self.version = Some(version);
        let text = fs::read_to_string(&path).map_err(|error| explain(error.to_string()))?;
        self.policies = Policies::parse(&text).map_err(|error| explain(error.to_string()))?;
        Ok(())
    }
}
