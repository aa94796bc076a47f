//! The check before any PHP code of a request is compiled.
//!
//! Pure: a [`Request`] is a source of CGI variables, a [`Store`](crate::store::Store)
//! answers, and what is done with the verdict is somebody else's. The order is
//! always the same: the allow list, the deny list, then all rules that are about
//! the request, in one question that charges all of their limits or none.

mod case;
mod client;
mod file;
mod key;
mod list;
mod paths;
mod pattern;
mod request;
mod rule;

pub use case::{Asked, Case, Verdict};
pub use client::{Client, Networks, Trust, UNIX, parse_address, write_key};
pub use file::File;
pub use key::{Part, Template};
pub use list::{List, Reason};
pub use paths::{Dialect, Paths};
pub use pattern::{HostPattern, PathPattern};
pub use request::{Header, Request};
pub use rule::{Answer, Rule, RuleLimit};

/// The gate of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    trust: Trust,
    dialect: Dialect,
    /// Who passes whatever the rules say.
    pub allow: List,
    /// Who never does.
    pub deny: List,
    /// What those are told.
    pub deny_answer: Option<Answer>,
    rules: Vec<Rule>,
    needs: Needs,
}

/// What has to be read of a request at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each thing that may be read"
)]
struct Needs {
    client: bool,
    paths: bool,
    host: bool,
    method: bool,
}

impl Gate {
    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}
