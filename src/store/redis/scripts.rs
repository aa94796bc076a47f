//! The Lua scripts, composed at build time, and the names Redis knows them by.

use std::rc::Rc;

use once_cell::unsync::OnceCell;

/// A script and its SHA-1.
pub struct Script {
    pub(super) source: String,
    pub(super) sha: String,
}

/// One script per kind of limit.
pub struct Scripts {
    pub(super) token_bucket: Script,
    pub(super) fixed_window: Script,
}

const CLOCK: &str = include_str!("../../../lua/clock.lua");
const EXACT: &str = include_str!("../../../lua/exact.lua");

impl Scripts {
    /// The scripts as they run in production, on the server's own time.
    pub fn standard() -> Rc<Self> {
        thread_local! {
            static STANDARD: OnceCell<Rc<Scripts>> = const { OnceCell::new() };
        }
        STANDARD.with(|scripts| Rc::clone(scripts.get_or_init(|| Rc::new(Self::with_clock(CLOCK)))))
    }

    /// The scripts with another `clock()` in Lua, so that a test can set time.
    pub fn with_clock(clock: &str) -> Self {
        let script = |body: &str| Script::new(format!("{clock}\n{EXACT}\n{body}"));
        Self {
            token_bucket: script(include_str!("../../../lua/token_bucket.lua")),
            fixed_window: script(include_str!("../../../lua/fixed_window.lua")),
        }
    }

    pub(super) fn all(&self) -> [&Script; 2] {
        [&self.token_bucket, &self.fixed_window]
    }
}

impl Script {
    fn new(source: String) -> Self {
        let sha = redis::Script::new(&source).get_hash().to_owned();
        Self { source, sha }
    }
}
