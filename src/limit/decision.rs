//! The question put to a limit, and its answer.

use super::Micros;

/// What to do with the tokens asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Take them if they are there.
    Take,
    /// Only look: nothing is written.
    Peek,
    /// Take them in any case, into debt if need be.
    Charge,
    /// Take them now for a time to come, at most so far ahead.
    Reserve(Micros),
}

/// One question: so many tokens, to be taken, looked at, or charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Tokens that the request takes; 0 looks, and is allowed unless in debt.
    pub cost: u64,
    /// What to do with them.
    pub mode: Mode,
}

impl Ask {
    /// Take `cost` tokens if they are there.
    pub fn take(cost: u64) -> Self {
        Self {
            cost,
            mode: Mode::Take,
        }
    }

    /// Would `cost` tokens be there?
    pub fn peek(cost: u64) -> Self {
        Self {
            cost,
            mode: Mode::Peek,
        }
    }

    /// Book `cost` tokens that will be there within `max_wait`.
    pub fn reserve(cost: u64, max_wait: Micros) -> Self {
        Self {
            cost,
            mode: Mode::Reserve(max_wait),
        }
    }

    /// Debit `cost` tokens whatever is left.
    pub fn charge(cost: u64) -> Self {
        Self {
            cost,
            mode: Mode::Charge,
        }
    }

    /// Whether tokens are to be taken, where they `fit` or not.
    pub(super) fn takes(self, fit: bool) -> bool {
        self.cost > 0
            && match self.mode {
                Mode::Take | Mode::Reserve(_) => fit,
                Mode::Peek => false,
                Mode::Charge => true,
            }
    }

    /// How long the caller may be told to wait before acting.
    pub(super) fn max_wait(self) -> Micros {
        match self.mode {
            Mode::Reserve(max_wait) => max_wait,
            _ => Micros::ZERO,
        }
    }

    /// Whether a refusal writes back a state that it found in the future, so
    /// that the key is not blocked for as long as the clock stepped back.
    pub(super) fn repairs(self, fit: bool) -> bool {
        !fit && self.mode != Mode::Peek
    }
}

/// The answer of a limit.
///
/// The figures describe the state after the question was answered. For a
/// charge, `allowed` says whether the tokens were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may go on.
    pub allowed: bool,
    /// The capacity or limit that was applied.
    pub limit: u32,
    /// Whole tokens left, `0 ≤ remaining ≤ limit`.
    pub remaining: u32,
    /// Time until the same request would pass: zero if it passed now, `None`
    /// if it never can. Exact and minimal to the microsecond.
    pub retry_after: Option<Micros>,
    /// Time until nothing counts as spent.
    pub reset_after: Micros,
    /// Time to wait before acting: what was booked ahead is there then.
    pub delay: Micros,
}

/// A decision, and the state to remember if it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<S> {
    /// The answer.
    pub decision: Decision,
    /// The state to write; `None` leaves what is there.
    pub write: Option<S>,
}

impl<S> Outcome<S> {
    /// The answer of a limit of 0, whatever its kind: only a look for nothing
    /// passes, and nothing is remembered.
    pub(super) fn of_nothing(ask: Ask) -> Self {
        let allowed = ask.cost == 0;
        Self {
            decision: Decision {
                allowed,
                limit: 0,
                remaining: 0,
                retry_after: allowed.then_some(Micros::ZERO),
                reset_after: Micros::ZERO,
                delay: Micros::ZERO,
            },
            write: None,
        }
    }
}
