//! A question as numbers for a script, and a script's numbers as an answer.

use crate::limit::{Decision, Limit, Micros, Mode, Rate};
use crate::store::{Answer, Fault, Permit, Question, Source, unix_now};

/// A cost past every limit is the same as any other; this one a double holds.
pub const MOST: u64 = 1 << 53;

/// The numbers of a limit, in the order of its script's ARGV. `around` is the
/// server's time where it is known to be far from ours.
pub fn arguments(question: &Question<'_>, around: Option<Micros>) -> Vec<u64> {
    let bucket = |rate: Option<Rate>, capacity: u32| {
        let (tokens, period) = rate.map_or((1, 1), |rate| (rate.tokens(), rate.period()));
        vec![tokens, period, capacity.into()]
    };
    match question.limit {
        Limit::TokenBucket(kind) => bucket(kind.rate(), kind.capacity()),
        Limit::LeakyBucket(kind) => bucket(kind.rate(), kind.capacity()),
        Limit::FixedWindow(kind) => vec![kind.limit().into(), kind.length().0],
        Limit::SlidingWindow(kind) => {
            vec![kind.limit().into(), kind.length().0, kind.cell_length()]
        }
        Limit::Quota(kind) => {
            let now = around.unwrap_or_else(unix_now);
            let (begins, ends) = kind.period_at(now);
            let (before, _) = kind.period_at(begins.since(Micros(1)));
            let (_, after) = kind.period_at(ends);
            vec![kind.limit().into(), before.0, begins.0, ends.0, after.0]
        }
        Limit::Concurrency(kind) => vec![kind.max().into(), kind.lease().0],
        Limit::None | Limit::Deny => Vec::new(),
    }
}

pub fn answer_of(
    part: &[i64],
    question: &Question<'_>,
    at: Micros,
    permit: Permit,
) -> Result<Answer, Fault> {
    let [allowed, remaining, retry, reset, delay] = part else {
        return Err(Fault::new("a reply of another length"));
    };
    let time = |micros: i64| {
        u64::try_from(micros)
            .map(Micros)
            .map_err(|_| Fault::new("a reply out of range"))
    };
    let allowed = *allowed == 1;
    let takes = question.ask.cost > 0 && question.ask.mode == Mode::Take;
    Ok(Answer {
        decision: Decision {
            allowed,
            limit: question.limit.size(),
            remaining: u32::try_from(*remaining).map_err(|_| Fault::new("a reply out of range"))?,
            retry_after: u64::try_from(*retry).ok().map(Micros),
            reset_after: time(*reset)?,
            delay: time(*delay)?,
        },
        source: Source::Redis,
        at,
        permit: (allowed && takes && matches!(question.limit, Limit::Concurrency(_)))
            .then_some(permit),
    })
}
