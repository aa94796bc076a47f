//! The policy `local`: this host alone, from what Redis last said.
//!
//! A host's own count is kept under names of its own and never told to Redis.
//! It starts from the near state, of whatever age, and grows from there; where
//! both know of a key, the one by which more is spent counts. Of each limit the
//! host gives out its share, and its share of what was spent counts.

use super::host::Host;
use crate::limit::{Key, Limit};
use crate::store::clock::Clock;
use crate::store::shm::Known;
use crate::store::{Answer, Fault, Question, Source, Store};

/// Who counts for this host while Redis is away.
pub struct Fallback {
    store: Box<dyn Store>,
    /// The states of this Redis, apart from those of others and from limits
    /// that never were in Redis.
    name: Vec<u8>,
}

impl Fallback {
    /// Counts in `store`, for the Redis of this name.
    pub fn new(store: Box<dyn Store>, name: &[u8]) -> Self {
        Self {
            store,
            name: [b"\0fallback\0", name, b"\0"].concat(),
        }
    }

    /// The store that counts.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The name under which it counts for a key.
    pub fn name_of(&self, key: Key<'_>) -> Vec<u8> {
        [&self.name, key.name].concat()
    }

    /// Answers, all or nothing, from what `host` knows.
    pub fn answer<C: Clock>(
        &self,
        host: Option<&Host<C>>,
        questions: &[Question<'_>],
    ) -> Result<Vec<Answer>, Fault> {
        let names: Vec<_> = questions
            .iter()
            .map(|question| self.name_of(question.key))
            .collect();
        let limits: Vec<_> = questions
            .iter()
            .map(|question| question.limit.scaled(question.on_failure.local_share))
            .collect();
        let own: Vec<_> = questions
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
        if let Some(host) = host {
            for (question, own) in questions.iter().zip(&own) {
                host.tell_of(question, own.key, own.limit)?;
            }
        }
        let mut answers = match own.as_slice() {
            [question] => vec![self.store.decide(question)?],
            questions => self.store.decide_all(questions)?,
        };
        for answer in &mut answers {
            answer.source = Source::Fallback;
        }
        Ok(answers)
    }
}

impl<C: Clock> Host<C> {
    /// Lets the host's own count know what Redis last said of a key.
    fn tell_of(
        &self,
        question: &Question<'_>,
        own_key: Key<'_>,
        own_limit: &Limit,
    ) -> Result<(), Fault> {
        let spot = self.spot(question);
        let Some(seen) = self.last_seen(spot, question.limit) else {
            return Ok(());
        };
        let Some(state) = &seen.state else {
            return Ok(());
        };
        let known = Known {
            state,
            there: seen.at,
            here: seen.seen_at,
            share: question.on_failure.local_share,
        };
        self.memory().adopt(own_key, own_limit, &known)
    }
}
