//! State in this process alone: for tests, and for trying things out.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::clock::Clock;
use super::{Answer, Fault, Question, Source, Status, Store};
use crate::limit::{Ask, Bucket, Decision, Identity, Key, Kind, Limit, Micros, Window};

/// Keeps states in a map, for as long as the process lives.
#[derive(Debug)]
pub struct Memory<C> {
    states: Mutex<HashMap<Vec<u8>, State>>,
    clock: C,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Bucket(Bucket),
    Window(Window),
}

impl<C: Clock> Memory<C> {
    /// An empty store. Its clock shows Unix time.
    pub fn new(clock: C) -> Self {
        Self {
            states: Mutex::default(),
            clock,
        }
    }

    /// The clock that decides.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    fn run<K: Kind>(
        &self,
        name: Vec<u8>,
        kind: &K,
        ask: Ask,
        unwrap: impl Fn(State) -> Option<K::State>,
        wrap: impl Fn(K::State) -> State,
    ) -> Decision {
        let mut states = self.states.lock();
        let state = states.get(&name).copied().and_then(unwrap);
        let outcome = kind.decide(state, self.clock.now(), ask);
        if let Some(state) = outcome.write {
            states.insert(name, wrap(state));
        }
        outcome.decision
    }
}

fn name_of(key: Key<'_>, identity: Identity) -> Vec<u8> {
    let mut name = vec![identity.letter()];
    name.extend(identity.window().to_be_bytes());
    name.extend((key.name.len() as u64).to_be_bytes());
    name.extend(key.name);
    name.extend(key.bytes);
    name
}

impl<C: Clock> Store for Memory<C> {
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        let Question {
            key, limit, ask, ..
        } = *question;
        let name = name_of(key, limit.identity());
        let decision = match limit {
            Limit::TokenBucket(kind) => self.run(
                name,
                kind,
                ask,
                |state| match state {
                    State::Bucket(bucket) => Some(bucket),
                    State::Window(_) => None,
                },
                State::Bucket,
            ),
            Limit::FixedWindow(kind) => self.run(
                name,
                kind,
                ask,
                |state| match state {
                    State::Window(window) => Some(window),
                    State::Bucket(_) => None,
                },
                State::Window,
            ),
        };
        Ok(Answer {
            decision,
            source: Source::Memory,
        })
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        self.states.lock().remove(&name_of(key, limit.identity()));
        Ok(())
    }

    fn status(&self) -> Status {
        Status {
            memory: Some(self.states.lock().len()),
            ..Status::default()
        }
    }

    fn unix_time(&self) -> Option<Micros> {
        Some(self.clock.now())
    }
}
