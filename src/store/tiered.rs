//! Redis behind this host's shared memory: what is answered without Redis.
//!
//! Every question goes to Redis; when Redis cannot answer in time, the failure
//! policy does. The near state (what Redis last said of a key), the breaker
//! (that later calls need not find out again) and leases belong here too, in
//! front of [`Tiered::ask_redis`] and behind [`Tiered::decide`].

use super::redis::Redis;
use super::{Answer, Fault, Question, Source, Status, Store};
use crate::limit::{Fraction, Key, Limit, Micros};

/// What answers where Redis cannot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failure {
    /// This host alone, from its shared memory.
    #[default]
    Local,
    /// Every request is let through.
    Allow,
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

    fn answer_without_redis(&self, question: &Question<'_>, fault: Fault) -> Result<Answer, Fault> {
        let untouched = question.limit.untouched();
        let open = Answer {
            decision: untouched,
            source: Source::FailedOpen,
        };
        match (question.on_failure.policy, &self.local) {
            (Failure::Throw, _) => Err(fault),
            (Failure::Allow, _) | (Failure::Local, None) => Ok(open),
            (Failure::Deny, _) => {
                let mut decision = untouched;
                decision.allowed = false;
                decision.remaining = 0;
                decision.retry_after = Some(COME_BACK);
                decision.reset_after = COME_BACK;
                Ok(Answer {
                    decision,
                    source: Source::FailedClosed,
                })
            }
            (Failure::Local, Some(local)) => {
                let limit = question.limit.scaled(question.on_failure.local_share);
                let name = self.local_name_of(question.key);
                let answer = local.decide(&Question {
                    key: Key {
                        name: &name,
                        ..question.key
                    },
                    limit: &limit,
                    ..*question
                })?;
                Ok(Answer {
                    source: Source::Fallback,
                    ..answer
                })
            }
        }
    }

    fn local_name_of(&self, key: Key<'_>) -> Vec<u8> {
        let mut name = self.local_name.clone();
        name.extend_from_slice(key.name);
        name
    }
}

impl Store for Tiered {
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        self.ask_redis(question)
            .or_else(|fault| self.answer_without_redis(question, fault))
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
