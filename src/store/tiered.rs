//! Redis behind this host's shared memory: what is answered without Redis.
//!
//! Every question goes to Redis; when Redis cannot answer in time, the failure
//! policy does. The near state (what Redis last said of a key), the breaker
//! (that later calls need not find out again) and leases belong here too, in
//! front of [`Tiered::ask_redis`] and behind [`Tiered::decide`].

use super::redis::Redis;
use super::{Answer, Fault, Held, Question, Source, Status, Store};
use crate::limit::{Fraction, Key, Limit, Micros};

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

/// Redis with a failure policy.
pub struct Tiered {
    redis: Redis,
    /// Keeps this host's own count while Redis is away.
    local: Option<Box<dyn Store>>,
    /// The local states of this Redis, apart from those of others and from
    /// limits that never were in Redis.
    local_name: Vec<u8>,
}

impl Tiered {
    /// Redis, with `local` to fall back on. Without it the policy `local`
    /// lets requests through.
    pub fn new(redis: Redis, local: Option<Box<dyn Store>>) -> Self {
        let dsn = redis.dsn();
        let mut local_name = b"\0fallback\0".to_vec();
        local_name.extend(dsn.to_string().bytes());
        local_name.push(0);
        local_name.extend(dsn.prefix.as_deref().unwrap_or_default());
        local_name.push(0);
        Self {
            redis,
            local,
            local_name,
        }
    }

    fn ask_redis(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        self.redis.decide(question)
    }

    /// Answers without Redis: all by the strictest policy among them.
    fn answer_without_redis(
        &self,
        questions: &[Question<'_>],
        fault: Fault,
    ) -> Result<Vec<Answer>, Fault> {
        match (strictest(questions), &self.local) {
            (Failure::Local, Some(local)) => {
                let names: Vec<_> = questions
                    .iter()
                    .map(|question| self.local_name_of(question.key))
                    .collect();
                let limits: Vec<_> = questions
                    .iter()
                    .map(|question| question.limit.scaled(question.on_failure.local_share))
                    .collect();
                let local_questions: Vec<_> = questions
                    .iter()
                    .zip(names.iter().zip(&limits))
                    .map(|(question, (name, limit))| Question {
                        key: Key {
                            name,
                            ..question.key
                        },
                        limit,
                        ..*question
                    })
                    .collect();
                let answers = match local_questions.as_slice() {
                    [question] => local.decide(question).map(|answer| vec![answer]),
                    questions => local.decide_all(questions),
                };
                let Ok(mut answers) = answers else {
                    // This host has no room either.
                    return answer_by_policy(questions, fault);
                };
                for answer in &mut answers {
                    answer.source = Source::Fallback;
                }
                Ok(answers)
            }
            _ => answer_by_policy(questions, fault),
        }
    }

    fn local_name_of(&self, key: Key<'_>) -> Vec<u8> {
        let mut name = self.local_name.clone();
        name.extend_from_slice(key.name);
        name
    }

    /// Does something where it was decided: by Redis, by this host, or by a
    /// policy that keeps nothing.
    fn where_decided<T>(
        &self,
        question: &Question<'_>,
        source: Source,
        nothing: T,
        act: impl Fn(&dyn Store, &Question<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match (source, &self.local) {
            (Source::Redis, _) => act(&self.redis, question),
            (Source::Fallback, Some(local)) => {
                let name = self.local_name_of(question.key);
                let key = Key {
                    name: &name,
                    ..question.key
                };
                act(&**local, &Question { key, ..*question })
            }
            _ => Ok(nothing),
        }
    }
}

fn strictest(questions: &[Question<'_>]) -> Failure {
    questions
        .iter()
        .map(|question| question.on_failure.policy)
        .max()
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

impl Store for Tiered {
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        self.ask_redis(question).or_else(|fault| {
            let mut answers = self.answer_without_redis(std::slice::from_ref(question), fault)?;
            answers.pop().ok_or_else(|| Fault::new("no answer"))
        })
    }

    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
        self.redis
            .decide_all(questions)
            .or_else(|fault| self.answer_without_redis(questions, fault))
    }

    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault> {
        self.where_decided(question, taken.source, (), |store, question| {
            store.refund(question, taken)
        })
    }

    fn release(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        self.where_decided(question, held.source, false, |store, question| {
            store.release(question, held)
        })
    }

    fn renew(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        self.where_decided(question, held.source, false, |store, question| {
            store.renew(question, held)
        })
    }

    /// Forgets the key in Redis and what this host counted by itself.
    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        if let Some(local) = &self.local {
            let name = self.local_name_of(key);
            local.reset(Key { name: &name, ..key }, limit)?;
        }
        self.redis.reset(key, limit)
    }

    fn status(&self) -> Status {
        let local = self.local.as_ref().map(|local| local.status());
        Status {
            redis: self.redis.status().redis,
            ..local.unwrap_or_default()
        }
    }
}
