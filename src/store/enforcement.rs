//! How far decisions are enforced: for introducing limits without a jolt.

use super::tiered::answer_by_policy;
use super::{Answer, Fault, Question, Source, Store, composite};
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
    /// Whether a store was asked: what was not counted cannot be given back.
    pub counted: bool,
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
        if *self == Self::default() && !question.dry_run {
            return store.decide(question).map(Enforced::plain);
        }
        let scaled = question.limit.scaled(self.scale);
        let question = Question {
            limit: &scaled,
            dry_run: self.lets_through(question),
            ..*question
        };
        if self.mode == Enforcing::Off {
            return Ok(Enforced::uncounted(&question));
        }
        Ok(self.enforce(&question, store.decide(&question)?))
    }

    /// Puts several questions to `store`, all or nothing, and enforces each
    /// answer. Questions about the same state become one, with their costs
    /// added; each still gets its answer.
    ///
    /// # Errors
    /// As [`Store::decide_all`].
    pub fn decide_all<S: Store + ?Sized>(
        &self,
        store: &S,
        questions: &[Question<'_>],
    ) -> Result<Vec<Enforced>, Fault> {
        if *self == Self::default() && composite::are_apart(questions) {
            // Nothing to scale, nothing to merge.
            let answers = store
                .decide_all(questions)
                .or_else(|fault| answer_by_policy(questions, fault))?;
            let answers = questions.iter().zip(answers);
            return Ok(answers
                .map(|(question, answer)| self.enforce(question, answer))
                .collect());
        }
        let scaled: Vec<_> = questions
            .iter()
            .map(|question| question.limit.scaled(self.scale))
            .collect();
        let questions: Vec<_> = questions
            .iter()
            .zip(&scaled)
            .map(|(question, limit)| Question { limit, ..*question })
            .collect();
        if self.mode == Enforcing::Off {
            return Ok(questions.iter().map(Enforced::uncounted).collect());
        }
        let mut merged: Vec<Question<'_>> = Vec::with_capacity(questions.len());
        let mut answered_by = Vec::with_capacity(questions.len());
        for question in &questions {
            // Observing lets everything through, so nothing may keep the others
            // from counting.
            let dry_run = self.lets_through(question);
            // What keeps no state is nobody else's: no limit beside one that
            // denies everything.
            let stateless = question.limit.stateless(question.ask).is_some();
            let same = merged.iter().position(|other| {
                !stateless
                    && other.limit.stateless(other.ask).is_none()
                    && other.key == question.key
                    && other.limit.identity() == question.limit.identity()
            });
            if let Some(index) = same {
                let one = &mut merged[index];
                one.ask.cost = one.ask.cost.saturating_add(question.ask.cost);
                one.dry_run &= dry_run;
                if question.on_failure.policy > one.on_failure.policy {
                    one.on_failure = question.on_failure;
                }
                if question.limit.size() < one.limit.size() {
                    one.limit = question.limit;
                }
                answered_by.push(index);
            } else {
                answered_by.push(merged.len());
                merged.push(Question {
                    dry_run,
                    ..*question
                });
            }
        }
        let answers = store
            .decide_all(&merged)
            .or_else(|fault| answer_by_policy(&merged, fault))?;
        Ok(questions
            .iter()
            .zip(answered_by)
            .filter_map(|(question, index)| Some(self.enforce(question, *answers.get(index)?)))
            .collect())
    }

    /// The answer where the store had none, by the failure policy: shared memory
    /// has no room for another worker or permit. (Redis has answered its faults
    /// by policy already, and hands on only what is to be thrown.)
    ///
    /// # Errors
    /// The fault, where the policy is to throw.
    #[cold]
    pub fn answer_by_policy(
        &self,
        question: &Question<'_>,
        fault: Fault,
    ) -> Result<Enforced, Fault> {
        let question = &Question {
            dry_run: self.lets_through(question),
            ..*question
        };
        let mut answers = answer_by_policy(std::slice::from_ref(question), fault)?;
        let answer = answers.pop().ok_or_else(|| Fault::new("no answer"))?;
        Ok(self.enforce(question, answer))
    }

    /// Whether a refusal is only told.
    fn lets_through(&self, question: &Question<'_>) -> bool {
        question.dry_run || self.mode == Enforcing::Observe
    }

    fn enforce(&self, question: &Question<'_>, mut answer: Answer) -> Enforced {
        let would_deny = self.lets_through(question) && !answer.decision.allowed;
        if would_deny {
            answer.decision.allowed = true;
            answer.decision.retry_after = Some(Micros::ZERO);
        }
        Enforced {
            answer,
            would_deny,
            counted: true,
        }
    }
}

fn untouched(question: &Question<'_>) -> Answer {
    Answer {
        decision: question.limit.untouched(),
        source: Source::Memory,
        at: Micros::ZERO,
        permit: None,
    }
}

impl Enforced {
    fn plain(answer: Answer) -> Self {
        Self {
            answer,
            would_deny: false,
            counted: true,
        }
    }

    fn uncounted(question: &Question<'_>) -> Self {
        Self {
            counted: false,
            ..Self::plain(untouched(question))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{Ask, Key, Limit, Number, TokenBucket};
    use crate::store::clock::ManualClock;
    use crate::store::memory::Memory;
    use crate::store::{Failure, Held, OnFailure, Status};

    fn ask(enforcement: Enforcement, store: &dyn Store, limit: &Limit) -> Enforced {
        let question = Question {
            key: Key::unnamed(b"k"),
            limit,
            ask: Ask::take(1),
            on_failure: &OnFailure::default(),
            dry_run: false,
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
    fn observing_counts_every_part_also_of_the_same_limit_twice() {
        let (store, full, other) = (store(), bucket(1), bucket(10));
        let on_failure = OnFailure::default();
        let part = |key, limit| Question {
            key: Key::unnamed(key),
            limit,
            ask: Ask::take(1),
            on_failure: &on_failure,
            dry_run: false,
        };
        let observe = Enforcement {
            mode: Enforcing::Observe,
            ..Enforcement::default()
        };
        // Two tokens of a bucket of one: enforcing would refuse.
        let parts = [part(b"k", &full), part(b"k", &full), part(b"o", &other)];
        let enforced = observe.decide_all(&store, &parts).unwrap();
        assert_eq!(
            enforced
                .iter()
                .map(|part| part.would_deny)
                .collect::<Vec<_>>(),
            [true, true, false]
        );
        assert_eq!(enforced[2].answer.decision.remaining, 9);
        let left = store.decide(&Question {
            ask: Ask::peek(1),
            ..part(b"o", &other)
        });
        assert_eq!(left.unwrap().decision.remaining, 9, "it was counted");
    }

    #[test]
    fn the_same_limit_twice_fails_as_the_stricter_of_the_two_says() {
        struct Broken;
        impl Store for Broken {
            fn decide(&self, _: &Question<'_>) -> Result<Answer, Fault> {
                Err(Fault::new("broken"))
            }
            fn decide_all(&self, _: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
                Err(Fault::new("broken"))
            }
            fn refund(&self, _: &Question<'_>, _: &Answer) -> Result<(), Fault> {
                Err(Fault::new("broken"))
            }
            fn release(&self, _: &Question<'_>, _: Held) -> Result<bool, Fault> {
                Err(Fault::new("broken"))
            }
            fn renew(&self, _: &Question<'_>, _: Held) -> Result<bool, Fault> {
                Err(Fault::new("broken"))
            }
            fn reset(&self, _: Key<'_>, _: &Limit) -> Result<(), Fault> {
                Err(Fault::new("broken"))
            }
            fn status(&self) -> Status {
                Status::default()
            }
        }
        let limit = bucket(5);
        let policy = |policy| OnFailure {
            policy,
            ..OnFailure::default()
        };
        let (allow, deny) = (policy(Failure::Allow), policy(Failure::Deny));
        let part = |on_failure| Question {
            key: Key::unnamed(b"k"),
            limit: &limit,
            ask: Ask::take(1),
            on_failure,
            dry_run: false,
        };
        for parts in [[part(&allow), part(&deny)], [part(&deny), part(&allow)]] {
            let enforced = Enforcement::default().decide_all(&Broken, &parts).unwrap();
            assert!(enforced.iter().all(|part| !part.answer.decision.allowed));
        }
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
