//! The Lua scripts, composed at build time from one body per kind, and the
//! names Redis knows them by.
//!
//! A body decides on one key. A script runs one body, or several for a
//! composite: it looks at all, and only where all would pass it runs them for
//! good. Proxied cloud services want every key as a literal `KEYS[n]`, so each
//! body of a composite is written out with its own numbers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;

use once_cell::unsync::OnceCell;

use crate::limit::Limit;

/// A script and its SHA-1.
pub struct Script {
    pub(super) source: String,
    pub(super) sha: String,
}

/// The kinds that Redis keeps, in the order of their scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Body {
    TokenBucket,
    FixedWindow,
    SlidingWindow,
    LeakyBucket,
    Quota,
    Concurrency,
}

impl Body {
    pub const ALL: [Self; 6] = [
        Self::TokenBucket,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::LeakyBucket,
        Self::Quota,
        Self::Concurrency,
    ];

    /// The body of a limit; `None` for one that needs no state.
    pub fn of(limit: &Limit) -> Option<Self> {
        Some(match limit {
            Limit::TokenBucket(_) => Self::TokenBucket,
            Limit::FixedWindow(_) => Self::FixedWindow,
            Limit::SlidingWindow(_) => Self::SlidingWindow,
            Limit::LeakyBucket(_) => Self::LeakyBucket,
            Limit::Quota(_) => Self::Quota,
            Limit::Concurrency(_) => Self::Concurrency,
            Limit::None | Limit::Deny => return None,
        })
    }

    fn source(self) -> &'static str {
        match self {
            Self::TokenBucket => include_str!("../../../lua/token_bucket.lua"),
            Self::FixedWindow => include_str!("../../../lua/fixed_window.lua"),
            Self::SlidingWindow => include_str!("../../../lua/sliding_window.lua"),
            Self::LeakyBucket => include_str!("../../../lua/leaky_bucket.lua"),
            Self::Quota => include_str!("../../../lua/quota.lua"),
            Self::Concurrency => include_str!("../../../lua/concurrency.lua"),
        }
    }

    /// What stands in front of the body.
    fn shared_part(self) -> &'static str {
        match self {
            Self::TokenBucket | Self::LeakyBucket => include_str!("../../../lua/debt.lua"),
            Self::FixedWindow | Self::Quota => include_str!("../../../lua/window.lua"),
            Self::SlidingWindow | Self::Concurrency => "",
        }
    }

    /// How many arguments the body takes.
    pub fn arguments(self) -> usize {
        match self {
            Self::TokenBucket
            | Self::LeakyBucket
            | Self::FixedWindow
            | Self::SlidingWindow
            | Self::Concurrency => 4,
            Self::Quota => 6,
        }
    }
}

/// The scripts that run on one clock.
pub struct Scripts {
    clock: String,
    singles: [Script; 6],
    composites: RefCell<HashMap<Vec<Body>, Rc<Script>>>,
}

/// Composites kept; an application has a handful of shapes.
const MOST_COMPOSITES: usize = 64;

const CLOCK: &str = include_str!("../../../lua/clock.lua");
const EXACT: &str = include_str!("../../../lua/exact.lua");
const COMPOSITE: &str = include_str!("../../../lua/composite.lua");

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
        Self {
            clock: clock.to_owned(),
            singles: Body::ALL.map(|body| Script::of(clock, &[body])),
            composites: RefCell::default(),
        }
    }

    /// The script of one body; each connection loads them all when it opens.
    pub(super) fn single(&self, body: Body) -> &Script {
        &self.singles[body as usize]
    }

    /// The script of several bodies, loaded when a server first needs it.
    pub(super) fn composite(&self, bodies: &[Body]) -> Rc<Script> {
        let mut composites = self.composites.borrow_mut();
        if let Some(script) = composites.get(bodies) {
            return Rc::clone(script);
        }
        if composites.len() == MOST_COMPOSITES {
            composites.clear();
        }
        let script = Rc::new(Script::of(&self.clock, bodies));
        composites.insert(bodies.to_vec(), Rc::clone(&script));
        script
    }

    pub(super) fn singles(&self) -> &[Script] {
        &self.singles
    }
}

impl Script {
    fn of(clock: &str, bodies: &[Body]) -> Self {
        let mut source = format!("{clock}\n{EXACT}\n");
        let mut shared: Vec<&str> = bodies.iter().map(|body| body.shared_part()).collect();
        shared.sort_unstable();
        shared.dedup();
        source.extend(shared);
        let mut before = 0;
        for (index, body) in bodies.iter().enumerate() {
            let number = index + 1;
            // Writing to a String cannot fail.
            let _ = write!(
                source,
                "local function part_{number}(now, mode, extra)\n{}\nend\n",
                renumbered(body.source(), number, before)
            );
            before += body.arguments();
        }
        let [mode, extra, dry, sequence] = [1, 2, 3, 4].map(|step| before + step);
        let _ = write!(
            source,
            "local now = clock()\n\
             local mode, extra = ARGV[{mode}], tonumber(ARGV[{extra}])\n\
             local dry, sequence = ARGV[{dry}], tonumber(ARGV[{sequence}])\n"
        );
        if bodies.len() == 1 {
            source.push_str("return {sequence, now, part_1(now, mode, extra)}\n");
        } else {
            let parts: Vec<_> = (1..=bodies.len()).map(|n| format!("part_{n}")).collect();
            let _ = write!(
                source,
                "local parts = {{{}}}\n{COMPOSITE}",
                parts.join(", ")
            );
        }
        let sha = redis::Script::new(&source).get_hash().to_owned();
        Self { source, sha }
    }
}

/// A body with its key and its arguments under the numbers they have in a
/// composite.
fn renumbered(body: &str, key: usize, arguments_before: usize) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find("ARGV[") {
        let (before, from) = rest.split_at(at + "ARGV[".len());
        text.push_str(before);
        let end = from.find(']').unwrap_or(0);
        match from[..end].parse::<usize>() {
            Ok(number) => text.push_str(&(number + arguments_before).to_string()),
            Err(_) => text.push_str(&from[..end]),
        }
        rest = &from[end..];
    }
    text.push_str(rest);
    text.replace("KEYS[1]", &format!("KEYS[{key}]"))
}
