//! Several questions at once, on stores that answer one at a time; and what all
//! stores answer alike.

use super::{Answer, Enforced, Fault, Question, Source, Store};
use crate::limit::{Ask, Micros, Mode};

/// Looks at all, then takes one after the other, giving back if another worker
/// was faster in between: never above any bound, finally all or none. For
/// microseconds another caller may be refused by what is then given back.
///
/// # Errors
/// As [`Store::decide`]; what was taken before is given back.
pub fn decide_all<S: Store + ?Sized>(
    store: &S,
    questions: &[Question<'_>],
) -> Result<Vec<Answer>, Fault> {
    let mut answers = questions
        .iter()
        .map(|question| {
            store.decide(&Question {
                ask: Ask {
                    mode: Mode::Peek,
                    ..question.ask
                },
                ..*question
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let refuses =
        |question: &Question<'_>, answer: &Answer| !answer.decision.allowed && !question.dry_run;
    if questions
        .iter()
        .zip(&answers)
        .any(|(question, answer)| refuses(question, answer))
    {
        return Ok(answers);
    }
    let looked = answers.clone();
    for (index, question) in questions.iter().enumerate() {
        let taken = store.decide(question);
        let lost = match &taken {
            Ok(answer) => refuses(question, answer),
            Err(_) => true,
        };
        if lost {
            for (question, answer) in questions.iter().zip(&answers).take(index) {
                if answer.decision.allowed {
                    store.refund(question, answer)?;
                }
            }
            answers[..index].copy_from_slice(&looked[..index]);
            answers[index] = taken?;
            return Ok(answers);
        }
        answers[index] = taken?;
    }
    Ok(answers)
}

/// Whether no two questions are about the same state.
pub fn are_apart(questions: &[Question<'_>]) -> bool {
    questions.iter().enumerate().all(|(index, question)| {
        let is_same = |other: &Question<'_>| {
            other.key == question.key && other.limit.identity() == question.limit.identity()
        };
        !questions[..index].iter().any(is_same)
    })
}

/// Which of several answers speaks for all: of a success the one with the least
/// left, of a refusal the one with the longest wait.
pub fn speaks_for_all(answers: &[Enforced]) -> Option<usize> {
    let refuses = |index: &usize| !answers[*index].answer.decision.allowed;
    let all = 0..answers.len();
    if all.clone().any(|index| refuses(&index)) {
        all.filter(refuses).max_by_key(|index| {
            let retry = answers[*index].answer.decision.retry_after;
            retry.map_or(u64::MAX, |time| time.0)
        })
    } else {
        all.min_by_key(|index| answers[*index].answer.decision.remaining)
    }
}

/// The answer that no state could change, if the limit has one.
pub fn stateless(question: &Question<'_>, source: Source) -> Option<Answer> {
    Some(Answer {
        decision: question.limit.stateless(question.ask)?,
        source,
        at: Micros::ZERO,
        permit: None,
    })
}

/// When a permit will be released nobody knows; a second is a fair time to come
/// back.
pub fn retry_of_permits(allowed: bool, cost: u64, max: u64) -> Option<Micros> {
    if allowed {
        Some(Micros::ZERO)
    } else if cost > max {
        None
    } else {
        Some(Micros(1_000_000))
    }
}
