//! The limits alone as a store: pure functions and a map of what they return.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use sluice::limit::{Ask, Bucket, Decision, Key, Kind, Limit, Micros, Window};
use sluice::store::clock::{Clock, ManualClock};
use sluice::store::{Answer, Fault, Question, Source, Status, Store};

/// What the other stores are held against.
pub struct Model {
    clock: Rc<ManualClock>,
    states: RefCell<HashMap<Place, State>>,
}

/// One key under one name and one identity.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    name: Vec<u8>,
    key: Vec<u8>,
    kind: u8,
    window: u64,
}

#[derive(Clone, Copy)]
enum State {
    Bucket(Bucket),
    Window(Window),
}

impl Model {
    /// Nothing was ever asked.
    pub fn new(clock: Rc<ManualClock>) -> Self {
        Self {
            clock,
            states: RefCell::default(),
        }
    }

    /// The answer that the key would get at another time. Nothing changes.
    pub fn at(&self, now: Micros, key: Key<'_>, limit: &Limit, ask: Ask) -> Decision {
        self.run(now, key, limit, ask).0
    }

    /// Whether what is remembered of the key lies in the future.
    pub fn is_ahead_of(&self, now: Micros, key: Key<'_>, limit: &Limit) -> bool {
        match (self.states.borrow().get(&Place::of(key, limit)), limit) {
            (Some(State::Bucket(bucket)), _) => bucket.full_at > now,
            (Some(State::Window(window)), Limit::FixedWindow(kind)) => {
                window.ends_at > now.after(kind.length())
            }
            _ => false,
        }
    }

    fn run(&self, now: Micros, key: Key<'_>, limit: &Limit, ask: Ask) -> (Decision, Option<State>) {
        let states = self.states.borrow();
        let state = states.get(&Place::of(key, limit)).copied();
        match limit {
            Limit::TokenBucket(kind) => {
                let state = match state {
                    Some(State::Bucket(bucket)) => Some(bucket),
                    _ => None,
                };
                let outcome = kind.decide(state, now, ask);
                (outcome.decision, outcome.write.map(State::Bucket))
            }
            Limit::FixedWindow(kind) => {
                let state = match state {
                    Some(State::Window(window)) => Some(window),
                    _ => None,
                };
                let outcome = kind.decide(state, now, ask);
                (outcome.decision, outcome.write.map(State::Window))
            }
        }
    }
}

impl Place {
    fn of(key: Key<'_>, limit: &Limit) -> Self {
        let identity = limit.identity();
        Self {
            name: key.name.to_vec(),
            key: key.bytes.to_vec(),
            kind: identity.letter(),
            window: identity.window(),
        }
    }
}

impl Store for Model {
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        let Question {
            key, limit, ask, ..
        } = *question;
        let (decision, write) = self.run(self.clock.now(), key, limit, ask);
        if let Some(state) = write {
            self.states
                .borrow_mut()
                .insert(Place::of(key, limit), state);
        }
        Ok(Answer {
            decision,
            source: Source::Memory,
        })
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        self.states.borrow_mut().remove(&Place::of(key, limit));
        Ok(())
    }

    fn status(&self) -> Status {
        Status::default()
    }
}
