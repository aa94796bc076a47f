//! What answers where Redis cannot.

use crate::limit::{Fraction, Micros};
use crate::store::{Answer, Fault, Question, Source};

/// What answers where Redis cannot, from the most lenient to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// Every request is let through.
    Allow,
    /// This host alone, from its shared memory.
    #[default]
    Local,
    /// Every request is refused.
    Deny,
    /// The caller gets the fault itself.
    Throw,
}

/// The failure policy with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnFailure {
    /// Who answers.
    pub policy: Failure,
    /// The part of each limit that this host gives out by itself.
    pub local_share: Fraction,
}

impl Default for OnFailure {
    fn default() -> Self {
        Self {
            policy: Failure::Local,
            local_share: Fraction::ONE,
        }
    }
}

/// How long a caller is told to stay away when nobody could decide.
const COME_BACK: Micros = Micros(1_000_000);

/// The strictest policy among the questions that may refuse. What only observes
/// neither refuses for the others nor throws.
pub(super) fn strictest(questions: &[Question<'_>]) -> Failure {
    let among = |observing: bool| {
        let some = questions.iter().filter(|some| some.dry_run == observing);
        some.map(|question| question.on_failure.policy).max()
    };
    among(false)
        .or_else(|| among(true).map(|policy| policy.min(Failure::Deny)))
        .unwrap_or_default()
}

/// What is answered where nobody can decide: by the strictest policy among the
/// questions. `local` lets through, since there is nobody left to ask.
///
/// # Errors
/// The fault, where the policy is to throw.
pub fn answer_by_policy(questions: &[Question<'_>], fault: Fault) -> Result<Vec<Answer>, Fault> {
    let policy = strictest(questions);
    if policy == Failure::Throw {
        return Err(fault);
    }
    let answer = |question: &Question<'_>| {
        let stateless = question.limit.stateless(question.ask);
        let mut decision = stateless.unwrap_or_else(|| question.limit.untouched());
        let mut source = Source::FailedOpen;
        if policy == Failure::Deny {
            decision.allowed = false;
            decision.remaining = 0;
            decision.retry_after = Some(COME_BACK);
            decision.reset_after = COME_BACK;
            source = Source::FailedClosed;
        }
        Answer {
            decision,
            source,
            at: Micros::ZERO,
            permit: None,
        }
    };
    Ok(questions.iter().map(answer).collect())
}
