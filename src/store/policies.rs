//! Policies: limits that have a name, in a file.
//!
//! ```toml
//! [limits]
//! core = "100/s burst 200"
//! expensive = { spec = "4/s queue 20", dry_run = true }
//! login = { spec = "5/m", on_failure = "deny" }
//! api = { spec = "1000/s burst 2000", leased = true }
//! ```

use std::collections::HashMap;

use super::OnFailure;
use super::document::{Document, Result, Value, on_failure};
use crate::limit::{Limit, parse_spec};

/// A limit with what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The limit.
    pub limit: Limit,
    /// Whether it only says what it would do.
    pub dry_run: bool,
    /// What answers where Redis cannot, if not what php.ini says.
    pub on_failure: Option<OnFailure>,
}

impl From<Limit> for Policy {
    fn from(limit: Limit) -> Self {
        Self {
            limit,
            dry_run: false,
            on_failure: None,
        }
    }
}

/// The policies of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies(HashMap<String, Policy>);

/// The longest name of a policy: it is part of every key.
pub const LONGEST_NAME: usize = 128;

/// Whether a text can name a policy: letters, digits and `. _ - : /`, not
/// starting with a digit, so that it is never taken for a spec.
pub fn is_policy_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-:/".contains(c))
}

impl Policies {
    /// Reads the table `[limits]`.
    ///
    /// # Errors
    /// Names the line, the column and what was expected there.
    pub fn read<'a>(document: Document<'a>, limits: &Value<'a>) -> Result<Self> {
        let mut policies = HashMap::new();
        for (name, value) in document.table(limits, "a table of limits")? {
            if !is_policy_name(name.get_ref()) {
                let what = format!(
                    "expected a name of 1 to {LONGEST_NAME} letters, digits and . _ - : /, \
                     not starting with a digit, found \"{}\"",
                    name.get_ref()
                );
                return Err(document.fault_at(name, &what));
            }
            policies.insert(name.get_ref().to_string(), policy(document, value)?);
        }
        Ok(Self(policies))
    }

    /// The policy of this name.
    pub fn get(&self, name: &str) -> Option<&Policy> {
        self.0.get(name)
    }

    /// All names, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

/// A limit written as a spec.
///
/// # Errors
/// Where it is none.
pub fn spec(document: Document<'_>, value: &Value<'_>) -> Result<Limit> {
    let text = document.text(value, "a spec, such as \"60/m\"")?;
    parse_spec(text).map_err(|error| document.fault_at(value, &error.to_string()))
}

fn policy<'a>(document: Document<'a>, value: &Value<'a>) -> Result<Policy> {
    if value.get_ref().is_str() {
        return Ok(Policy::from(spec(document, value)?));
    }
    let table = document.table(value, "a spec or a table with one")?;
    let (mut limit, mut dry_run, mut failure, mut share) = (None, false, None, None);
    let mut leased = None;
    for (name, value) in table {
        match &**name.get_ref() {
            "spec" => limit = Some(spec(document, value)?),
            "dry_run" => dry_run = document.boolean(value)?,
            "leased" => leased = Some((value, document.boolean(value)?)),
            "on_failure" => failure = Some(document.failure(value)?),
            "local_share" => share = Some(document.share(value)?),
            other => {
                let what = format!(
                    "expected spec, dry_run, leased, on_failure or local_share, found \"{other}\""
                );
                return Err(document.fault_at(name, &what));
            }
        }
    }
    let mut limit =
        limit.ok_or_else(|| document.fault_at(value, "expected a spec in this table"))?;
    if let Some((value, true)) = leased {
        let Limit::TokenBucket(bucket) = &mut limit else {
            let what = "expected false: only a token bucket can be leased";
            return Err(document.fault_at(value, what));
        };
        *bucket = bucket.leased();
    }
    Ok(Policy {
        limit,
        dry_run,
        on_failure: on_failure(failure, share),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Failure;
    use crate::store::document::DocumentError;

    fn parse(text: &str) -> std::result::Result<Policies, DocumentError> {
        let (document, file) = Document::parse(text)?;
        Policies::read(document, file.get("limits").unwrap())
    }

    #[test]
    fn names_limits_once() {
        let policies = parse(
            "[limits]\ncore = \"100/s burst 200\"\n\"user.export\" = { spec = \"2 concurrent\", dry_run = true, on_failure = \"deny\" }\n",
        )
        .unwrap();
        assert_eq!(policies.names(), ["core", "user.export"]);
        let export = policies.get("user.export").unwrap();
        assert!(export.dry_run);
        assert_eq!(export.on_failure.unwrap().policy, Failure::Deny);
    }

    #[test]
    fn a_token_bucket_can_be_leased() {
        let policies = parse(
            "[limits]\na = { spec = \"9/s burst 9\", leased = true }\nb = \"9/s burst 9 leased\"\nc = { spec = \"9/s burst 9\", leased = false }\n",
        )
        .unwrap();
        let is_leased = |name| match &policies.get(name).unwrap().limit {
            Limit::TokenBucket(bucket) => bucket.is_leased(),
            other => panic!("{other:?}"),
        };
        assert_eq!(["a", "b", "c"].map(is_leased), [true, true, false]);
    }

    #[test]
    fn a_fault_has_a_place_and_an_expectation() {
        for (text, line, column, expected) in [
            ("[limits]\ncore = ", 2, 8, ""),
            ("[limits]\ncore = 5", 2, 8, "a spec"),
            ("[limits]\ncore = \"5\"", 2, 8, "\"per\""),
            ("[limits]\n1st = \"5/m\"", 2, 1, "not starting with a digit"),
            (
                "[limits]\ncore = { spek = \"5/m\" }",
                2,
                10,
                "spec, dry_run",
            ),
            ("[limits]\ncore = { dry_run = true }", 2, 8, "a spec"),
            (
                "[limits]\ncore = { spec = \"5/m\", leased = true }",
                2,
                33,
                "token bucket",
            ),
            (
                "[limits]\ncore = { spec = \"5/m\", on_failure = \"open\" }",
                2,
                37,
                "\"deny\"",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(
                (error.line, error.column),
                (line, column),
                "{text}: {error}"
            );
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
