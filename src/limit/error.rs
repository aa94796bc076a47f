//! Why a limit cannot be built from the numbers given.

use std::fmt;

/// A number outside its range: which one, what was given, what is allowed.
///
/// The message is worded to follow the argument's name, as PHP's own do:
/// "… Argument #2 ($capacity) must be between 0 and 32000000, -5 given".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError {
    /// The number at fault.
    pub argument: Argument,
    /// What is allowed and what was given.
    pub message: String,
}

/// The numbers that limits are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The capacity of a bucket.
    Capacity,
    /// The rate of a bucket.
    Rate,
    /// The limit of a window.
    Limit,
    /// The length of a window.
    Window,
}

impl LimitError {
    pub(super) fn new(argument: Argument, message: impl Into<String>) -> Self {
        Self {
            argument,
            message: message.into(),
        }
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.argument {
            Argument::Capacity => "capacity",
            Argument::Rate => "rate",
            Argument::Limit => "limit",
            Argument::Window => "window",
        };
        write!(f, "{name} {}", self.message)
    }
}

impl std::error::Error for LimitError {}
