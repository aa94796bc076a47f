//! The limits alone as a store: pure functions and a map of what they return.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use sluice::limit::{
    Ask, Bucket, Cells, Decision, Key, Kind, Limit, MAX_PERIOD, Micros, Mode, Window,
};
use sluice::store::clock::{Clock, ManualClock};
use sluice::store::{Answer, Fault, Held, Question, Source, Status, Store};

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
    zone: String,
}

#[derive(Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "simple is best here")]
enum State {
    Bucket(Bucket),
    Window(Window),
    Cells(Cells),
}

/// The state of a kind, in and out of the map.
trait InMap: Sized {
    fn from_map(state: &State) -> Option<Self>;
    fn into_map(self) -> State;
}

macro_rules! in_map {
    ($($kind:ident),*) => {
        $(impl InMap for $kind {
            fn from_map(state: &State) -> Option<Self> {
                match state {
                    State::$kind(state) => Some(*state),
                    _ => None,
                }
            }

            fn into_map(self) -> State {
                State::$kind(self)
            }
        })*
    };
}
in_map!(Bucket, Window, Cells);

/// Calls a method for the kind that a limit is.
macro_rules! of_kind {
    ($limit:expr, $kind:ident => $call:expr) => {
        match $limit {
            Limit::TokenBucket($kind) => $call,
            Limit::FixedWindow($kind) => $call,
            Limit::SlidingWindow($kind) => $call,
            Limit::LeakyBucket($kind) => $call,
            Limit::Quota($kind) => $call,
            other => panic!("no pure function decides {other:?}"),
        }
    };
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
                window.ends_at > now.after(kind.own_length().unwrap_or(MAX_PERIOD))
            }
            (Some(State::Window(window)), Limit::Quota(kind)) => {
                window.ends_at > kind.period_at(now).1
            }
            (Some(State::Cells(cells)), _) => cells.as_slice().iter().any(|cell| cell.last > now),
            _ => false,
        }
    }

    fn run(&self, now: Micros, key: Key<'_>, limit: &Limit, ask: Ask) -> (Decision, Option<State>) {
        let states = self.states.borrow();
        let state = states.get(&Place::of(key, limit));
        of_kind!(limit, kind => decide(kind, state, now, ask))
    }

    fn keep(&self, key: Key<'_>, limit: &Limit, state: Option<&State>) {
        if let Some(state) = state {
            self.states
                .borrow_mut()
                .insert(Place::of(key, limit), *state);
        }
    }
}

fn decide<K: Kind>(
    kind: &K,
    state: Option<&State>,
    now: Micros,
    ask: Ask,
) -> (Decision, Option<State>)
where
    K::State: InMap,
{
    let outcome = kind.decide(state.and_then(K::State::from_map), now, ask);
    (outcome.decision, outcome.write.map(InMap::into_map))
}

fn give_back<K: Kind>(
    kind: &K,
    state: Option<&State>,
    now: Micros,
    cost: u64,
    taken_at: Micros,
) -> Option<State>
where
    K::State: InMap,
{
    let state = state.and_then(K::State::from_map)?;
    kind.give_back(state, now, cost, taken_at)
        .map(InMap::into_map)
}

impl Place {
    fn of(key: Key<'_>, limit: &Limit) -> Self {
        let identity = limit.identity();
        Self {
            name: key.name.to_vec(),
            key: key.bytes.to_vec(),
            kind: identity.letter,
            window: identity.window,
            zone: identity.zone.to_owned(),
        }
    }
}

impl Store for Model {
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        let Question {
            key, limit, ask, ..
        } = *question;
        let now = self.clock.now();
        let (decision, write) = self.run(now, key, limit, ask);
        self.keep(key, limit, write.as_ref());
        Ok(Answer {
            decision,
            source: Source::Memory,
            at: now,
            permit: None,
        })
    }

    /// One process and one thread: what all would let through, all get.
    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
        let each = |mode: Option<Mode>| -> Result<Vec<Answer>, Fault> {
            questions
                .iter()
                .map(|question| {
                    self.decide(&Question {
                        ask: Ask {
                            mode: mode.unwrap_or(question.ask.mode),
                            ..question.ask
                        },
                        ..*question
                    })
                })
                .collect()
        };
        let looks = each(Some(Mode::Peek))?;
        let all = looks
            .iter()
            .zip(questions)
            .all(|(look, question)| look.decision.allowed || question.dry_run);
        if all { each(None) } else { Ok(looks) }
    }

    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault> {
        let Question {
            key, limit, ask, ..
        } = *question;
        let now = self.clock.now();
        let state = self.states.borrow().get(&Place::of(key, limit)).copied();
        let back =
            of_kind!(limit, kind => give_back(kind, state.as_ref(), now, ask.cost, taken.at));
        self.keep(key, limit, back.as_ref());
        Ok(())
    }

    fn release(&self, _: &Question<'_>, _: Held) -> Result<bool, Fault> {
        Ok(false)
    }

    fn renew(&self, _: &Question<'_>, _: Held) -> Result<bool, Fault> {
        Ok(false)
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        self.states.borrow_mut().remove(&Place::of(key, limit));
        Ok(())
    }

    fn status(&self) -> Status {
        Status::default()
    }
}
