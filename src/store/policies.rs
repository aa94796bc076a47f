//! Policies: limits that have a name, in a file.
//!
//! ```toml
//! [limits]
//! core = "100/s burst 200"
//! expensive = { spec = "4/s queue 20", dry_run = true }
//! login = { spec = "5/m", on_failure = "deny" }
//! ```

use std::collections::HashMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Failure, OnFailure};
use crate::limit::{Fraction, Limit, parse_spec};

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

/// The policies of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies(HashMap<String, Policy>);

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The line, from 1 on.
    pub line: usize,
    /// The column, from 1 on.
    pub column: usize,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl std::error::Error for PolicyError {}

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
    /// Reads a file's text.
    ///
    /// # Errors
    /// Names the line, the column and what was expected there.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let reader = Reader { text };
        let file = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            reader.fault(at, error.message())
        })?;
        let mut policies = HashMap::new();
        for (section, value) in file.get_ref() {
            if section.get_ref() != "limits" {
                let what = format!("expected [limits], found \"{}\"", section.get_ref());
                return Err(reader.fault(section.span().start, &what));
            }
            for (name, value) in reader.table(value, "a table of limits")? {
                if !is_policy_name(name.get_ref()) {
                    let what = format!(
                        "expected a name of 1 to {LONGEST_NAME} letters, digits and . _ - : /, \
                         not starting with a digit, found \"{}\"",
                        name.get_ref()
                    );
                    return Err(reader.fault(name.span().start, &what));
                }
                policies.insert(name.get_ref().to_string(), reader.policy(value)?);
            }
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

struct Reader<'a> {
    text: &'a str,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn fault(&self, at: usize, message: &str) -> PolicyError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_begins = before.rfind('\n').map_or(0, |newline| newline + 1);
        PolicyError {
            line: before.matches('\n').count() + 1,
            column: before[line_begins..].chars().count() + 1,
            message: message.trim().replace('\n', ", "),
        }
    }

    fn expected(&self, value: &Value<'_>, what: &str) -> PolicyError {
        let found = value.get_ref().type_str();
        self.fault(
            value.span().start,
            &format!("expected {what}, found {found}"),
        )
    }

    fn table<'v>(&self, value: &'v Value<'v>, what: &str) -> Result<&'v DeTable<'v>, PolicyError> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.expected(value, what))
    }

    fn text<'v>(&self, value: &'v Value<'_>, what: &str) -> Result<&'v str, PolicyError> {
        value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.expected(value, what))
    }

    fn spec(&self, value: &Value<'_>) -> Result<Limit, PolicyError> {
        let text = self.text(value, "a spec, such as \"60/m\"")?;
        parse_spec(text).map_err(|error| self.fault(value.span().start, &error.to_string()))
    }

    fn policy(&self, value: &Value<'_>) -> Result<Policy, PolicyError> {
        if value.get_ref().is_str() {
            return Ok(Policy {
                limit: self.spec(value)?,
                dry_run: false,
                on_failure: None,
            });
        }
        let table = self.table(value, "a spec or a table with one")?;
        let (mut limit, mut dry_run, mut failure, mut share) = (None, false, None, None);
        for (name, value) in table {
            match &**name.get_ref() {
                "spec" => limit = Some(self.spec(value)?),
                "dry_run" => {
                    dry_run = value
                        .get_ref()
                        .as_bool()
                        .ok_or_else(|| self.expected(value, "true or false"))?;
                }
                "on_failure" => {
                    let what = "one of \"local\", \"allow\", \"deny\", \"throw\"";
                    let policy = match self.text(value, what)? {
                        "local" => Failure::Local,
                        "allow" => Failure::Allow,
                        "deny" => Failure::Deny,
                        "throw" => Failure::Throw,
                        other => {
                            let what = format!("expected {what}, found \"{other}\"");
                            return Err(self.fault(value.span().start, &what));
                        }
                    };
                    failure = Some(policy);
                }
                "local_share" => {
                    let number = match value.get_ref() {
                        DeValue::Float(float) => float.as_str().parse().ok(),
                        DeValue::Integer(int) => int.as_str().parse().ok(),
                        _ => None,
                    };
                    share = number
                        .filter(|share| (0.000_001..=1.0).contains(share))
                        .and_then(Fraction::of_float);
                    if share.is_none() {
                        return Err(self.expected(value, "a number above 0 and at most 1"));
                    }
                }
                other => {
                    let what = format!(
                        "expected spec, dry_run, on_failure or local_share, found \"{other}\""
                    );
                    return Err(self.fault(name.span().start, &what));
                }
            }
        }
        Ok(Policy {
            limit: limit
                .ok_or_else(|| self.fault(value.span().start, "expected a spec in this table"))?,
            dry_run,
            on_failure: (failure.is_some() || share.is_some()).then(|| OnFailure {
                policy: failure.unwrap_or_default(),
                local_share: share.unwrap_or(Fraction::ONE),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_limits_once() {
        let policies = Policies::parse(
            "[limits]\ncore = \"100/s burst 200\"\n\"user.export\" = { spec = \"2 concurrent\", dry_run = true, on_failure = \"deny\" }\n",
        )
        .unwrap();
        assert_eq!(policies.names(), ["core", "user.export"]);
        let export = policies.get("user.export").unwrap();
        assert!(export.dry_run);
        assert_eq!(export.on_failure.unwrap().policy, Failure::Deny);
    }

    #[test]
    fn a_fault_has_a_place_and_an_expectation() {
        for (text, line, column, expected) in [
            ("[limits]\ncore = ", 2, 8, ""),
            ("[limit]\n", 1, 2, "[limits]"),
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
                "[limits]\ncore = { spec = \"5/m\", on_failure = \"open\" }",
                2,
                37,
                "\"deny\"",
            ),
        ] {
            let error = Policies::parse(text).unwrap_err();
            assert_eq!(
                (error.line, error.column),
                (line, column),
                "{text}: {error}"
            );
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
