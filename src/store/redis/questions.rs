//! A question as numbers for a script, and a script's numbers as an answer.

use crate::limit::{Cell, Cells, Decision, Limit, Micros, Mode, Rate};
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
        Limit::FixedWindow(kind) => vec![
            kind.limit().into(),
            kind.length().0,
            kind.own_length().is_none().into(),
        ],
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

/// What Redis said of one question.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// Its answer.
    pub answer: Answer,
    /// The state after it, by the server's time. `None` where the kind has none
    /// or nobody was asked.
    pub state: Option<Cells>,
}

/// One part of a reply: its five figures, and its state.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    figures: &'a [i64],
    state: &'a [i64],
}

/// Numbers in front of each part's state.
pub const FIGURES: usize = 5;

/// Cuts a reply to `parts` questions, without what is in front of them. Of one
/// the state follows its figures; of several all figures come first, then each
/// state with its length in front.
///
/// # Errors
/// Where the reply does not have that form.
pub fn parts_of(numbers: &[i64], parts: usize) -> Result<Vec<Part<'_>>, String> {
    let cut = || -> Option<Vec<Part<'_>>> {
        let (figures, mut rest) = numbers.split_at_checked(parts * FIGURES)?;
        let parts = figures.chunks_exact(FIGURES).map(|figures| {
            let mut length = rest.len();
            if parts > 1 {
                let (first, behind) = rest.split_first()?;
                (length, rest) = (usize::try_from(*first).ok()?, behind);
            }
            let state;
            (state, rest) = rest.split_at_checked(length)?;
            Some(Part { figures, state })
        });
        let parts = parts.collect::<Option<Vec<_>>>()?;
        rest.is_empty().then_some(parts)
    };
    cut().ok_or_else(|| "a reply of another length".to_owned())
}

impl Part<'_> {
    /// Whether the question has to be put again, with another calendar.
    pub fn is_outside(&self) -> bool {
        self.figures[0] == -2
    }

    /// The state, if the reply has one. Of a sliding window it may be no cells
    /// at all.
    fn state(&self, limit: &Limit) -> Option<Cells> {
        let cells = self.state.chunks_exact(2).filter_map(|cell| {
            Some(Cell {
                last: Micros(cell[0].try_into().ok()?),
                taken: cell[1].try_into().ok()?,
            })
        });
        let is_known = !self.state.is_empty() || matches!(limit, Limit::SlidingWindow(_));
        is_known.then(|| Cells::of(cells))
    }
}

pub fn reply_of(
    part: Part<'_>,
    question: &Question<'_>,
    at: Micros,
    permit: Permit,
) -> Result<Reply, Fault> {
    let &[allowed, remaining, retry, reset, delay] = part.figures else {
        return Err(Fault::new("a reply of another length"));
    };
    let time = |micros: i64| {
        u64::try_from(micros)
            .map(Micros)
            .map_err(|_| Fault::new("a reply out of range"))
    };
    let allowed = allowed == 1;
    let takes = question.ask.cost > 0 && question.ask.mode == Mode::Take;
    let answer = Answer {
        decision: Decision {
            allowed,
            limit: question.limit.size(),
            remaining: u32::try_from(remaining).map_err(|_| Fault::new("a reply out of range"))?,
            retry_after: u64::try_from(retry).ok().map(Micros),
            reset_after: time(reset)?,
            delay: time(delay)?,
        },
        source: Source::Redis,
        at,
        permit: (allowed && takes && matches!(question.limit, Limit::Concurrency(_)))
            .then_some(permit),
    };
    Ok(Reply {
        answer,
        state: part.state(question.limit),
    })
}
