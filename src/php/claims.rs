//! Who says something that only one of many workers should say.

use super::stores;
use crate::limit::{Ask, FixedWindow, Key, Limit, Number};
use crate::store::{OnFailure, Question, Store};

/// A while, in seconds.
pub const HOUR: i64 = 3600;

/// Whether nobody on this host has said this in the last `seconds`.
pub fn is_first(topic: &[u8], about: &[u8], seconds: i64) -> bool {
    is_among(1, topic, about, seconds)
}

/// Whether this is among the first `most` on this host in so many `seconds`.
/// Counted in shared memory, under a name that no limit can have.
pub fn is_among(most: i64, topic: &[u8], about: &[u8], seconds: i64) -> bool {
    let Ok(window) = FixedWindow::new(most, Number::Int(seconds)) else {
        return true;
    };
    let name = [b"\0said\0", topic].concat();
    let question = Question {
        key: Key {
            name: &name,
            bytes: about,
        },
        limit: &Limit::FixedWindow(window),
        ask: Ask::take(1),
        on_failure: &OnFailure::default(),
        dry_run: false,
    };
    let answer = stores::shared_memory().decide(&question);
    answer.is_ok_and(|answer| answer.decision.allowed)
}
