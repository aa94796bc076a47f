//! Why a limit cannot be built from the numbers given.

use std::fmt;

use super::{MAX_LIMIT, MAX_PERIOD, Micros, Number};

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
    /// The seconds that a rate is given for.
    Per,
    /// The limit of a window.
    Limit,
    /// The length of a window.
    Window,
    /// The time zone of a quota.
    Timezone,
    /// The most permits at once.
    Max,
    /// How long a permit lasts on Redis.
    Lease,
}

impl LimitError {
    /// `size` as a capacity or limit.
    pub(super) fn check_size(argument: Argument, size: i64) -> Result<u32, Self> {
        u32::try_from(size)
            .ok()
            .filter(|size| *size <= MAX_LIMIT)
            .ok_or_else(|| {
                Self::new(
                    argument,
                    format!("must be between 0 and {MAX_LIMIT}, {size} given"),
                )
            })
    }

    /// `seconds` as a length of time from 1 µs to 366 days.
    pub(super) fn check_length(argument: Argument, seconds: Number) -> Result<Micros, Self> {
        let micros = match seconds {
            Number::Int(seconds) => u64::try_from(seconds)
                .ok()
                .and_then(|seconds| seconds.checked_mul(1_000_000)),
            // Rounding first would let 0.4 µs pass as 0; NAN fails the range.
            Number::Float(seconds) => (1e-6..=MAX_PERIOD.as_secs_f64())
                .contains(&seconds)
                .then(|| (seconds * 1e6).round() as u64),
            Number::Millionths(micros) => Some(micros),
        };
        micros
            .map(Micros)
            .filter(|length| (Micros(1)..=MAX_PERIOD).contains(length))
            .ok_or_else(|| {
                Self::new(
                    argument,
                    format!(
                        "must be between 0.000001 and {} seconds (366 days), {seconds} given",
                        MAX_PERIOD.0 / 1_000_000
                    ),
                )
            })
    }

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
            Argument::Per => "per",
            Argument::Limit => "limit",
            Argument::Window => "window",
            Argument::Timezone => "timezone",
            Argument::Max => "max",
            Argument::Lease => "lease",
        };
        write!(f, "{name} {}", self.message)
    }
}

impl std::error::Error for LimitError {}
