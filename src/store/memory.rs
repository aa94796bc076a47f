//! State in this process alone: for tests, and for trying things out.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

use super::clock::Clock;
use super::{Answer, Fault, Held, Permit, Question, Source, Status, Store, composite};
use crate::limit::{
    Ask, Bucket, Cells, Concurrency, Decision, Identity, Key, Kind, Limit, Micros, Mode, Window,
};

/// Keeps states in a map, for as long as the process lives.
#[derive(Debug)]
pub struct Memory<C> {
    states: Mutex<HashMap<Vec<u8>, State>>,
    clock: C,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "for tests, where simple is best")]
enum State {
    Bucket(Bucket),
    Window(Window),
    Cells(Cells),
    /// Permits, by the time at which each lapses.
    Permits(BTreeMap<Permit, Micros>),
}

/// A state as the kind that it belongs to knows it.
trait Remembered: Sized {
    fn unwrap(state: &State) -> Option<Self>;
    fn wrap(self) -> State;
}

macro_rules! remembered {
    ($($state:ty as $case:ident),*) => {
        $(impl Remembered for $state {
            fn unwrap(state: &State) -> Option<Self> {
                match state {
                    State::$case(state) => Some(state.clone()),
                    _ => None,
                }
            }

            fn wrap(self) -> State {
                State::$case(self)
            }
        })*
    };
}
remembered!(Bucket as Bucket, Window as Window, Cells as Cells, BTreeMap<Permit, Micros> as Permits);

/// What is done with the state of a kind.
enum Change<'a> {
    Decide(Ask),
    Refund(u64, &'a Answer),
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

    fn run<K: Kind>(&self, name: Vec<u8>, kind: &K, change: &Change<'_>) -> Option<Decision>
    where
        K::State: Remembered,
    {
        let mut states = self.states.lock();
        let state = states.get(&name).and_then(K::State::unwrap);
        let now = self.clock.now();
        let (decision, write) = match change {
            Change::Decide(ask) => {
                let outcome = kind.decide(state, now, *ask);
                (Some(outcome.decision), outcome.write)
            }
            Change::Refund(cost, taken) => {
                let back = state.and_then(|state| kind.give_back(state, now, *cost, taken.at));
                (None, back)
            }
        };
        if let Some(state) = write {
            states.insert(name, state.wrap());
        }
        decision
    }

    /// Runs what the limit's kind is.
    fn dispatch(&self, question: &Question<'_>, change: &Change<'_>) -> Option<Decision> {
        let name = name_of(question.key, question.limit.identity());
        match question.limit {
            Limit::TokenBucket(kind) => self.run(name, kind, change),
            Limit::FixedWindow(kind) => self.run(name, kind, change),
            Limit::SlidingWindow(kind) => self.run(name, kind, change),
            Limit::LeakyBucket(kind) => self.run(name, kind, change),
            Limit::Quota(kind) => self.run(name, kind, change),
            Limit::Concurrency(_) | Limit::None | Limit::Deny => None,
        }
    }

    /// The permits of a key that have not lapsed.
    fn with_permits<T>(
        &self,
        question: &Question<'_>,
        use_them: impl FnOnce(&mut BTreeMap<Permit, Micros>, Micros) -> T,
    ) -> T {
        let name = name_of(question.key, question.limit.identity());
        let now = self.clock.now();
        let mut states = self.states.lock();
        let mut permits = states
            .get(&name)
            .and_then(BTreeMap::unwrap)
            .unwrap_or_default();
        permits.retain(|_, lapses| *lapses > now);
        let result = use_them(&mut permits, now);
        states.insert(name, permits.wrap());
        result
    }

    fn decide_concurrency(&self, question: &Question<'_>, limit: &Concurrency) -> Answer {
        let Ask { cost, mode } = question.ask;
        let max = limit.max();
        self.with_permits(question, |permits, now| {
            let fits = permits.len() as u64 + cost.min(u64::from(max) + 1) <= u64::from(max);
            let permit = (fits && cost > 0 && mode == Mode::Take).then(Permit::new);
            if let Some(permit) = permit {
                permits.insert(permit, now.after(limit.lease()));
            }
            Answer {
                decision: Decision {
                    allowed: fits,
                    limit: max,
                    remaining: max.saturating_sub(permits.len() as u32),
                    retry_after: composite::retry_of_permits(fits, cost, max.into()),
                    reset_after: Micros::ZERO,
                    delay: Micros::ZERO,
                },
                source: Source::Memory,
                at: now,
                permit,
            }
        })
    }
}

fn name_of(key: Key<'_>, identity: Identity<'_>) -> Vec<u8> {
    let mut name = vec![identity.letter];
    name.extend(identity.window.to_be_bytes());
    name.extend((identity.zone.len() as u64).to_be_bytes());
    name.extend(identity.zone.bytes());
    name.extend((key.name.len() as u64).to_be_bytes());
    name.extend(key.name);
    name.extend(key.bytes);
    name
}

impl<C: Clock> Store for Memory<C> {
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        if let Limit::Concurrency(limit) = question.limit {
            return Ok(self.decide_concurrency(question, limit));
        }
        let decided = self.dispatch(question, &Change::Decide(question.ask));
        let decision = decided.map(|decision| Answer {
            decision,
            source: Source::Memory,
            at: self.clock.now(),
            permit: None,
        });
        decision
            .or_else(|| composite::stateless(question, Source::Memory))
            .ok_or_else(|| Fault::new("a limit without a kind"))
    }

    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
        composite::decide_all(self, questions)
    }

    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault> {
        if let Some(held) = taken.held() {
            self.release(question, held)?;
        }
        self.dispatch(question, &Change::Refund(question.ask.cost, taken));
        Ok(())
    }

    fn release(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        Ok(self.with_permits(question, |permits, _| {
            permits.remove(&held.permit).is_some()
        }))
    }

    fn renew(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        let Limit::Concurrency(limit) = question.limit else {
            return Ok(false);
        };
        Ok(self.with_permits(question, |permits, now| {
            let lapses = permits.get_mut(&held.permit);
            lapses
                .map(|lapses| *lapses = now.after(limit.lease()))
                .is_some()
        }))
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
