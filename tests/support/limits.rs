//! Limits and questions in few words.

use sluice::limit::{Ask, FixedWindow, Fraction, Key, Limit, Micros, Number, TokenBucket};
use sluice::store::{Failure, OnFailure, Question};

/// One second.
pub const SECOND: u64 = 1_000_000;
/// One day.
pub const DAY: u64 = 86_400 * SECOND;

/// A bucket with a whole number of tokens per second.
pub fn bucket(capacity: i64, rate: i64) -> Limit {
    bucket_of(capacity, Number::Int(rate))
}

/// A bucket with a rate that is written as a fraction.
pub fn slow_bucket(capacity: i64, rate: f64) -> Limit {
    bucket_of(capacity, Number::Float(rate))
}

fn bucket_of(capacity: i64, rate: Number) -> Limit {
    match TokenBucket::new(capacity, rate) {
        Ok(bucket) => Limit::TokenBucket(bucket),
        Err(error) => panic!("not a bucket: {error}"),
    }
}

/// A window of so many seconds.
pub fn window(limit: i64, seconds: i64) -> Limit {
    window_of(limit, Number::Int(seconds))
}

/// A window of so many microseconds.
pub fn short_window(limit: i64, length: Micros) -> Limit {
    window_of(limit, Number::Float(length.as_secs_f64()))
}

fn window_of(limit: i64, length: Number) -> Limit {
    match FixedWindow::new(limit, length) {
        Ok(window) => Limit::FixedWindow(window),
        Err(error) => panic!("not a window: {error}"),
    }
}

/// A question by the default failure policy.
pub fn question<'a>(key: Key<'a>, limit: &'a Limit, ask: Ask) -> Question<'a> {
    question_with(key, limit, ask, &by_policy::LOCAL)
}

/// A question by another failure policy.
pub fn question_with<'a>(
    key: Key<'a>,
    limit: &'a Limit,
    ask: Ask,
    on_failure: &'a OnFailure,
) -> Question<'a> {
    Question {
        key,
        limit,
        ask,
        on_failure,
    }
}

/// The failure policies.
pub mod by_policy {
    use super::{Failure, Fraction, OnFailure};

    /// This host alone decides.
    pub const LOCAL: OnFailure = of(Failure::Local);
    /// Everything passes.
    pub const ALLOW: OnFailure = of(Failure::Allow);
    /// Nothing passes.
    pub const DENY: OnFailure = of(Failure::Deny);
    /// The caller gets the fault.
    pub const THROW: OnFailure = of(Failure::Throw);

    const fn of(policy: Failure) -> OnFailure {
        OnFailure {
            policy,
            local_share: Fraction::ONE,
        }
    }
}
