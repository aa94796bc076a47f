//! What a path or a host has to look like, compiled when the file is read.

use fast_glob::glob_match;

use super::request::normal_host;

/// A pattern of paths.
///
/// Without a wildcard it is the path itself. `*` stands for any part of one
/// name between two slashes, `**` for any number of whole names, none included;
/// `[a-z]` and `{a,b}` are as in a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    shape: Shape,
    names_a_file: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Exact(Vec<u8>),
    /// `/reports/**`: this path and all below it.
    Below(Vec<u8>),
    Glob(Vec<u8>),
}

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Says what a pattern has to be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names: Vec<_> = text.split('/').collect();
        let reason = if !text.starts_with('/') {
            "a path that starts with /"
        } else if text.contains(['?', '#']) {
            "a path without a query: the query is no part of it"
        } else if names.iter().any(|name| matches!(*name, "." | ".."))
            || text.contains("//")
            || has_encoding(text)
        {
            "a path in its normal form: decoded, without //, /./ and /../"
        } else if names
            .iter()
            .any(|name| name.contains("**") && *name != "**")
        {
            "a path in which ** is a whole name, as in /reports/**"
        } else {
            ""
        };
        if !reason.is_empty() {
            return Err(format!("expected {reason}; found \"{text}\""));
        }
        fast_glob::validate(text)
            .map_err(|error| format!("expected a pattern; \"{text}\" has an {error}"))?;
        // Twice any number of names is any number of names.
        let mut names = names;
        names.dedup_by(|name, before| *name == "**" && name == before);
        let path = names.join("/");
        let trimmed = path.trim_end_matches('/');
        let path = if trimmed.is_empty() { "/" } else { trimmed };
        let is_plain = |path: &str| !path.contains(['*', '[', '{', '\\']);
        let bytes = |path: &str| path.as_bytes().to_vec();
        let shape = match path.strip_suffix("/**") {
            _ if is_plain(path) => Shape::Exact(bytes(path)),
            Some(above) if is_plain(above) => Shape::Below(bytes(above)),
            _ => Shape::Glob(bytes(path)),
        };
        let last = path.rsplit('/').next().unwrap_or_default();
        Ok(Self {
            shape,
            names_a_file: last.contains('.'),
        })
    }

    /// Makes it match paths in lower case, whatever its own.
    pub fn ignore_case(&mut self) {
        let (Shape::Exact(text) | Shape::Below(text) | Shape::Glob(text)) = &mut self.shape;
        text.make_ascii_lowercase();
    }

    /// Whether a path in its normal form looks so.
    pub fn matches(&self, path: &[u8]) -> bool {
        match &self.shape {
            Shape::Exact(exact) => path == exact,
            Shape::Below(above) => path
                .strip_prefix(above.as_slice())
                .is_some_and(|rest| matches!(rest.first(), None | Some(b'/'))),
            // The root has no name that a `*` could stand for.
            Shape::Glob(glob) if path == b"/" => {
                let mut names = glob.split(|byte| *byte == b'/').skip(1);
                names.all(|name| name == b"**")
            }
            Shape::Glob(glob) => {
                // `/a*/**` matches `/ab` as well: none is a number of names.
                let above = glob.strip_suffix(b"/**");
                glob_match(glob, path) || above.is_some_and(|above| glob_match(above, path))
            }
        }
    }

    /// Whether it looks like the name of a script, such as `/report.php`.
    pub fn names_a_file(&self) -> bool {
        self.names_a_file
    }
}

fn has_encoding(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|w| w[0] == b'%' && w[1].is_ascii_hexdigit() && w[2].is_ascii_hexdigit())
}

/// A host, or `*.` and a domain for all hosts below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    name: Vec<u8>,
    below: bool,
}

impl HostPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Says what a pattern has to be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (below, domain) = match text.strip_prefix("*.") {
            Some(domain) => (true, domain),
            None => (false, text),
        };
        let mut name = Vec::new();
        normal_host(domain.as_bytes(), &mut name);
        if name.is_empty() || domain.contains(['*', '/', ' ']) {
            return Err(format!(
                "expected a host such as example.com, or *.example.com for all below it; \
                 found \"{text}\""
            ));
        }
        Ok(Self { name, below })
    }

    /// Whether a host in its normal form looks so.
    pub fn matches(&self, host: &[u8]) -> bool {
        match host.strip_suffix(self.name.as_slice()) {
            Some(rest) if self.below => rest.len() > 1 && rest.ends_with(b"."),
            Some(rest) => rest.is_empty(),
            None => false,
        }
    }
}
