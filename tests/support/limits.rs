//! Limits and questions in few words.

use sluice::limit::{
    Ask, Concurrency, FixedWindow, Fraction, Key, LeakyBucket, Limit, Micros, Number, Period,
    Quota, SlidingWindow, TokenBucket,
};
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

/// A sliding window of this length.
pub fn sliding(limit: i64, length: Micros) -> Limit {
    match SlidingWindow::new(limit, Number::Float(length.as_secs_f64())) {
        Ok(window) => Limit::SlidingWindow(window),
        Err(error) => panic!("not a window: {error}"),
    }
}

/// A queue from which so many go out per second.
pub fn queue(capacity: i64, rate: i64) -> Limit {
    match LeakyBucket::with_period(capacity, Number::Int(rate), Number::Int(1)) {
        Ok(queue) => Limit::LeakyBucket(queue),
        Err(error) => panic!("not a queue: {error}"),
    }
}

/// A quota of a zone's calendar.
pub fn quota(limit: i64, period: Period, zone: &str) -> Limit {
    match Quota::new(limit, period, zone) {
        Ok(quota) => Limit::Quota(quota),
        Err(error) => panic!("not a quota: {error}"),
    }
}

/// Permits, on Redis with a lease of so many seconds.
pub fn permits(max: i64, lease: i64) -> Limit {
    match Concurrency::new(max, Number::Int(lease)) {
        Ok(concurrency) => Limit::Concurrency(concurrency),
        Err(error) => panic!("no concurrency: {error}"),
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
        dry_run: false,
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
