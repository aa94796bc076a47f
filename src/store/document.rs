//! Reading the file of `sluice.config`: what is wrong, where, and what was
//! expected there.

use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Failure, OnFailure};
use crate::limit::Fraction;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// The line, from 1 on.
    pub line: usize,
    /// The column, from 1 on.
    pub column: usize,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl std::error::Error for DocumentError {}

/// A result that names its place in the file.
pub type Result<T> = std::result::Result<T, DocumentError>;

/// A value and its place.
pub type Value<'a> = Spanned<DeValue<'a>>;

/// The text of a TOML file, which knows its lines.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    text: &'a str,
}

impl<'a> Document<'a> {
    /// Reads the text as TOML.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(text: &'a str) -> Result<(Self, DeTable<'a>)> {
        let document = Self { text };
        match DeTable::parse(text) {
            Ok(table) => Ok((document, table.into_inner())),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                Err(document.fault(at, error.message()))
            }
        }
    }

    /// An error at a byte of the text.
    pub fn fault(&self, at: usize, message: &str) -> DocumentError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_begins = before.rfind('\n').map_or(0, |newline| newline + 1);
        DocumentError {
            line: before.matches('\n').count() + 1,
            column: before[line_begins..].chars().count() + 1,
            message: message.trim().replace('\n', ", "),
        }
    }

    /// An error at a value.
    pub fn fault_at<T>(&self, value: &Spanned<T>, message: &str) -> DocumentError {
        self.fault(value.span().start, message)
    }

    /// Another type was expected.
    pub fn expected(&self, value: &Value<'_>, what: &str) -> DocumentError {
        let found = value.get_ref().type_str();
        self.fault_at(value, &format!("expected {what}, found {found}"))
    }

    /// A table.
    ///
    /// # Errors
    /// Where the value is another type; so do all that follow.
    pub fn table<'v>(&self, value: &'v Value<'a>, what: &str) -> Result<&'v DeTable<'a>> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.expected(value, what))
    }

    /// A text.
    ///
    /// # Errors
    /// As [`table`](Self::table).
    pub fn text<'v>(&self, value: &'v Value<'_>, what: &str) -> Result<&'v str> {
        value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.expected(value, what))
    }

    /// One value, or a list of at least one.
    ///
    /// # Errors
    /// Where the list is empty, or `read` finds an error in it.
    pub fn one_or_more<T>(
        &self,
        value: &Value<'a>,
        what: &str,
        mut read: impl FnMut(&Value<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        match value.get_ref().as_array() {
            None => Ok(vec![read(value)?]),
            Some(list) if list.is_empty() => Err(self.fault_at(
                value,
                &format!("expected {what}, found an empty list; leave it out to mean any"),
            )),
            Some(list) => list.iter().map(read).collect(),
        }
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// As [`table`](Self::table).
    pub fn boolean(&self, value: &Value<'_>) -> Result<bool> {
        value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.expected(value, "true or false"))
    }

    /// An integer within a range.
    ///
    /// # Errors
    /// As [`table`](Self::table), and outside the range.
    pub fn integer(&self, value: &Value<'_>, range: std::ops::RangeInclusive<u16>) -> Result<u16> {
        let what = format!("a number from {} to {}", range.start(), range.end());
        let DeValue::Integer(number) = value.get_ref() else {
            return Err(self.expected(value, &what));
        };
        let parsed = number.as_str().parse().ok();
        parsed
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let found = number.as_str();
                self.fault_at(value, &format!("expected {what}, found {found}"))
            })
    }

    /// The name of a failure policy, one of those `allowed`.
    ///
    /// # Errors
    /// As [`table`](Self::table), and where it is none of them.
    pub fn failure(&self, value: &Value<'_>) -> Result<Failure> {
        let what = "one of \"local\", \"allow\", \"deny\", \"throw\"";
        match self.text(value, what)? {
            "local" => Ok(Failure::Local),
            "allow" => Ok(Failure::Allow),
            "deny" => Ok(Failure::Deny),
            "throw" => Ok(Failure::Throw),
            other => Err(self.fault_at(value, &format!("expected {what}, found \"{other}\""))),
        }
    }

    /// The part of a limit that this host gives out by itself.
    ///
    /// # Errors
    /// Outside the range.
    pub fn share(&self, value: &Value<'_>) -> Result<Fraction> {
        let number = match value.get_ref() {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(int) => int.as_str().parse().ok(),
            _ => None,
        };
        number
            .filter(|share| (0.000_001..=1.0).contains(share))
            .and_then(Fraction::of_float)
            .ok_or_else(|| self.expected(value, "a number above 0 and at most 1"))
    }
}

/// Both parts of a failure policy, if one of them was given.
pub fn on_failure(policy: Option<Failure>, share: Option<Fraction>) -> Option<OnFailure> {
    (policy.is_some() || share.is_some()).then(|| OnFailure {
        policy: policy.unwrap_or_default(),
        local_share: share.unwrap_or(Fraction::ONE),
    })
}
