//! Who passes whatever the rules say, and who never does.

use subtle::{Choice, ConstantTimeEq};

use super::client::{Client, Networks};
use super::paths::Paths;
use super::pattern::PathPattern;
use super::request::{Header, Request};

/// The allow list or the deny list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    pub(super) nets: Networks,
    pub(super) paths: Vec<PathPattern>,
    pub(super) headers: Vec<(Header, Vec<Vec<u8>>)>,
    /// Whether each request that is on it is told to the log.
    pub log: bool,
}

/// What of a request is on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The client's address.
    Address,
    /// A header.
    Header,
    /// The path.
    Path,
}

impl Reason {
    /// In a word, for logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Address => "ip",
            Self::Header => "header",
            Self::Path => "path",
        }
    }
}

/// How many of a path's readings have to be on the list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Readings {
    /// One is enough to refuse.
    Any,
    /// To let through none may be missing.
    All,
}

impl List {
    /// Whether a request is on it, and by what.
    pub(super) fn finds<R: Request + ?Sized>(
        &self,
        request: &R,
        client: Client,
        paths: &Paths,
        readings: Readings,
    ) -> Option<Reason> {
        if let Client::Known(address) = client
            && self.nets.contain(address)
        {
            return Some(Reason::Address);
        }
        let has_token = self.headers.iter().any(|(header, tokens)| {
            header
                .of(request)
                .is_some_and(|given| is_one_of(given, tokens))
        });
        if has_token {
            return Some(Reason::Header);
        }
        let matches = match readings {
            Readings::Any => paths.any_matches(&self.paths),
            Readings::All => paths.all_match(&self.paths),
        };
        matches.then_some(Reason::Path)
    }
}

/// In a time that does not tell how much of a token was right.
fn is_one_of(given: &[u8], tokens: &[Vec<u8>]) -> bool {
    let found = tokens.iter().fold(Choice::from(0), |found, token| {
        found | token.as_slice().ct_eq(given)
    });
    found.into()
}
