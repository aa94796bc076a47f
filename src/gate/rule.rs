//! A rule: whom it is about, how it counts them, and what it answers.

use super::key::Template;
use super::paths::Paths;
use super::pattern::{HostPattern, PathPattern};
use crate::limit::Limit;
use crate::store::OnFailure;

/// One `[[gate.rule]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// How logs and PHP call it.
    pub name: String,
    /// Any path, if there is none; so with hosts and methods.
    pub(super) paths: Vec<PathPattern>,
    pub(super) hosts: Vec<HostPattern>,
    pub(super) methods: Vec<String>,
    /// Whom it counts.
    pub key: Template,
    /// What it counts them by: all of them, or none.
    pub limits: Vec<RuleLimit>,
    /// What it answers, if not the usual.
    pub answer: Option<Answer>,
    /// Whether what it lets through carries the headers of the limits.
    pub headers: bool,
}

/// A limit of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLimit {
    /// The policy's name; the rule's, for a limit that has none.
    pub name: String,
    /// The limit.
    pub limit: Limit,
    /// Whether it only says what it would do.
    pub dry_run: bool,
    /// If not what php.ini says.
    pub on_failure: Option<OnFailure>,
}

/// What a refused client is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status, if not the usual.
    pub status: Option<u16>,
    /// The content type and the text, if not the usual.
    pub body: Option<(&'static str, String)>,
    /// More headers, which take the place of ours.
    pub headers: Vec<(String, String)>,
}

/// What a rule looks at, besides the path.
pub(super) struct Aim<'a> {
    pub methods: [Option<&'a [u8]>; 3],
    pub host: &'a [u8],
}

impl Rule {
    /// Whether a request is one that this rule is about.
    pub(super) fn is_about(&self, aim: &Aim<'_>, paths: &Paths) -> bool {
        (self.methods.is_empty() || self.has_method(aim))
            && (self.hosts.is_empty() || self.hosts.iter().any(|host| host.matches(aim.host)))
            && (self.paths.is_empty() || paths.any_matches(&self.paths))
    }

    /// HEAD runs what GET runs.
    fn has_method(&self, aim: &Aim<'_>) -> bool {
        aim.methods.iter().flatten().any(|given| {
            self.methods.iter().any(|method| {
                given.eq_ignore_ascii_case(method.as_bytes())
                    || method == "GET" && given.eq_ignore_ascii_case(b"HEAD")
            })
        })
    }
}
