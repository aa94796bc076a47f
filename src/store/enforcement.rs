//! How far decisions are enforced: for introducing limits without a jolt.

use super::{Answer, Fault, Question, Source, Store};
use crate::limit::{Fraction, Micros};

/// What is done with a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcing {
    /// It is a refusal.
    #[default]
    Enforce,
    /// It is counted and told, and the request goes on.
    Observe,
    /// Nothing is decided or counted.
    Off,
}

/// The layer over every store: mode and scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// What is done with a refusal.
    pub mode: Enforcing,
    /// What all limits are multiplied by.
    pub scale: Fraction,
}

/// An answer as it is to be acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforced {
    /// The answer.
    pub answer: Answer,
    /// Whether enforcing would have refused.
    pub would_deny: bool,
}

impl Default for Enforcement {
    fn default() -> Self {
        Self {
            mode: Enforcing::Enforce,
            scale: Fraction::ONE,
        }
    }
}

impl Enforcement {
    /// Puts `question` to `store` and enforces the answer.
    ///
    /// # Errors
    /// As [`Store::decide`].
    #[inline(always)]
    pub fn decide<S: Store + ?Sized>(
        &self,
        store: &S,
        question: &Question<'_>,
    ) -> Result<Enforced, Fault> {
        if *self == Self::default() {
            return store.decide(question).map(Enforced::plain);
        }
        let scaled = question.limit.scaled(self.scale);
        if self.mode == Enforcing::Off {
            return Ok(Enforced::plain(Answer {
                decision: scaled.untouched(),
                source: Source::Memory,
            }));
        }
        let mut answer = store.decide(&Question {
            limit: &scaled,
            ..*question
        })?;
        let would_deny = self.mode == Enforcing::Observe && !answer.decision.allowed;
        if would_deny {
            answer.decision.allowed = true;
            answer.decision.retry_after = Some(Micros::ZERO);
        }
        Ok(Enforced { answer, would_deny })
    }
}

impl Enforced {
    fn plain(answer: Answer) -> Self {
        Self {
            answer,
            would_deny: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{Ask, Key, Limit, Number, TokenBucket};
    use crate::store::OnFailure;
    use crate::store::clock::ManualClock;
    use crate::store::memory::Memory;

    fn ask(enforcement: Enforcement, store: &dyn Store, limit: &Limit) -> Enforced {
        let question = Question {
            key: Key::unnamed(b"k"),
            limit,
            ask: Ask::take(1),
            on_failure: &OnFailure::default(),
        };
        enforcement.decide(store, &question).unwrap()
    }

    fn store() -> Memory<ManualClock> {
        Memory::new(ManualClock::default())
    }

    fn bucket(capacity: i64) -> Limit {
        Limit::TokenBucket(TokenBucket::new(capacity, Number::Int(1)).unwrap())
    }

    #[test]
    fn observing_counts_and_lets_through() {
        let (store, limit) = (store(), bucket(1));
        let observe = Enforcement {
            mode: Enforcing::Observe,
            ..Enforcement::default()
        };
        assert!(!ask(observe, &store, &limit).would_deny);
        let second = ask(observe, &store, &limit);
        assert!(second.would_deny && second.answer.decision.allowed);
        assert_eq!(second.answer.decision.remaining, 0);
        assert!(
            !ask(Enforcement::default(), &store, &limit)
                .answer
                .decision
                .allowed
        );
    }

    #[test]
    fn off_counts_nothing() {
        let (store, limit) = (store(), bucket(1));
        let off = Enforcement {
            mode: Enforcing::Off,
            ..Enforcement::default()
        };
        for _ in 0..3 {
            let enforced = ask(off, &store, &limit);
            assert!(enforced.answer.decision.allowed && !enforced.would_deny);
        }
        assert!(
            ask(Enforcement::default(), &store, &limit)
                .answer
                .decision
                .allowed
        );
    }

    #[test]
    fn scale_multiplies_capacity_and_rate_and_leaves_one_of_one() {
        let (store, limit) = (store(), bucket(100));
        let half = Enforcement {
            scale: Fraction::new(1, 2),
            ..Enforcement::default()
        };
        let first = ask(half, &store, &limit).answer.decision;
        assert_eq!((first.limit, first.remaining), (50, 49));
        assert_eq!(first.reset_after, Micros(2_000_000));
        let one = ask(half, &self::store(), &bucket(1)).answer.decision;
        assert!(one.allowed);
    }
}
