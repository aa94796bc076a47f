//! Redis behind this host's shared memory: what is answered without Redis.
//!
//! In this order: tokens that the host holds ([`leases`]), the refusals that
//! Redis would give too ([`near`]), and only then Redis, unless it is known to
//! be away ([`breaker`]). Where it does not answer, the failure policy does
//! ([`failure`], [`fallback`]).

mod breaker;
mod breakers;
mod failure;
mod fallback;
mod host;
mod leases;
mod near;

pub use breaker::BreakerStatus;
pub use failure::{Failure, OnFailure, answer_by_policy};

use std::cell::Cell;
use std::sync::Arc;

use self::breakers::{Breakers, Entered};
use self::failure::strictest;
use self::fallback::Fallback;
use self::host::{Host, Spot};
use self::near::NearBy;
use super::clock::Clock;
use super::redis::{Redis, Reply};
use super::shm::{BootClock, SharedMemory, Table};
use super::{Answer, Fault, Held, Question, Source, Status, Store};
use crate::limit::{Identity, Key, Limit, Micros, Mode, TokenBucket};

/// Redis, with this host in front of it and a failure policy behind.
pub struct Tiered<C = BootClock> {
    redis: Redis,
    /// What this host knows of this Redis.
    host: Option<Host<C>>,
    near: NearBy,
    breakers: Breakers,
    /// Counts while Redis is away.
    fallback: Option<Fallback>,
    clock: C,
    counts: Counts,
}

/// What this worker did without Redis.
#[derive(Default)]
struct Counts {
    near: Cell<u64>,
    leased: Cell<u64>,
}

/// How the way to Redis does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierStatus {
    /// How long the near state is believed.
    pub near: Micros,
    /// Refusals of this worker by the near state.
    pub near_refusals: u64,
    /// Requests that this worker let through on tokens the host held.
    pub leased: u64,
    /// The breaker of this host; in a Cluster those of all nodes as one.
    pub breaker: BreakerStatus,
}

impl Tiered {
    /// Redis, with `local` to fall back on. Without it the policy `local`
    /// lets requests through. Nothing is known to the host's other workers.
    pub fn new(redis: Redis, local: Option<Box<dyn Store>>) -> Self {
        let fallback = local.map(|store| Fallback::new(store, &name_of(&redis)));
        Self {
            breakers: Breakers::new(None, way_of(&redis)),
            redis,
            host: None,
            near: NearBy {
                lasts: Micros::ZERO,
            },
            fallback,
            clock: BootClock,
            counts: Counts::default(),
        }
    }
}

impl<C: Clock + Clone + 'static> Tiered<C> {
    /// Redis behind this host's `memory`, under its `clock`, which all workers
    /// share. Near states are believed for `near`, at most; zero turns them off.
    pub fn on_host(redis: Redis, table: &Arc<Table>, clock: C, near: Micros) -> Self {
        let name = name_of(&redis);
        let memory = SharedMemory::with_clock(Arc::clone(table), clock.clone());
        Self {
            breakers: Breakers::new(Some(table), way_of(&redis)),
            redis,
            host: Some(Host::new(memory.clone(), &name)),
            near: NearBy { lasts: near },
            fallback: Some(Fallback::new(Box::new(memory), &name)),
            clock,
            counts: Counts::default(),
        }
    }
}

/// What tells one Redis from another: the DSN without the password, with the
/// user also where that is not shown.
fn server_of(redis: &Redis) -> Vec<u8> {
    let dsn = redis.dsn();
    let user = dsn.login.user.as_deref().unwrap_or_default();
    format!("{dsn}\0{user}").into_bytes()
}

/// What tells one way to a Redis from another in all that may be why it does not
/// answer: a password that is wrong here is none of others' faults.
fn way_of(redis: &Redis) -> Vec<u8> {
    let mut way = server_of(redis);
    way.extend(redis.means());
    way
}

/// What tells one Redis' keys from another's: the way there, and the prefix.
fn name_of(redis: &Redis) -> Vec<u8> {
    let mut name = server_of(redis);
    name.push(0);
    name.extend(redis.dsn().prefix.as_deref().unwrap_or_default());
    name
}

impl<C: Clock> Tiered<C> {
    /// The time that the breaker counts in.
    fn now(&self) -> Micros {
        match &self.host {
            Some(host) => host.now(),
            None => self.clock.now(),
        }
    }

    /// Makes a call about these keys, unless Redis is known to be away for them,
    /// and lets all workers know how it went.
    fn call<T>(
        &self,
        named: &[(Key<'_>, Identity<'_>)],
        call: impl FnOnce(&Redis) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let nodes = self.redis.nodes_of(named);
        let entered = match self.breakers.enter(&nodes, self.now()) {
            Ok(entered) => entered,
            Err(faults) => return Err(self.turned_away(faults)),
        };
        if entered.probes() {
            self.redis.doubt();
        }
        let result = call(&self.redis);
        let Err(fault) = &result else {
            entered.succeeded();
            return result;
        };
        let culprit = self.culprit(named, &nodes, entered, fault);
        if fault.of_key {
            culprit.succeeded();
        } else {
            culprit.failed(self.now());
        }
        result
    }

    /// Who of those that a call was for did not answer it.
    #[cold]
    fn culprit(
        &self,
        named: &[(Key<'_>, Identity<'_>)],
        nodes: &[String],
        entered: Entered,
        fault: &Fault,
    ) -> Entered {
        let Some(met_at) = fault.node.as_deref() else {
            return entered;
        };
        if let Some(place) = nodes.iter().position(|node| node == met_at) {
            return entered.only(place);
        }
        let names_it = |nodes: Vec<String>| nodes.iter().any(|node| node == met_at);
        if nodes.is_empty() && names_it(self.redis.nodes_of(named)) {
            // Somebody else has said who has the slot.
            entered.succeeded();
            return self.breakers.entered(met_at);
        }
        entered
    }

    #[cold]
    fn turned_away(&self, faults: u16) -> Fault {
        // Another node may have the slot by now; a call to a third shall ask.
        self.redis.doubt();
        Fault::new(format!(
            "{}: not asked, since it did not answer the last {faults} calls of this host",
            self.redis.dsn(),
        ))
    }

    /// Asks Redis, and keeps what it says.
    fn ask(&self, question: &Question<'_>, spot: Option<Spot>) -> Result<Answer, Fault> {
        let reply = match (leased(question), spot, &self.host) {
            (Some((_, cost)), Some(spot), Some(host)) if question.ask.mode == Mode::Take => {
                self.ask_ahead(host, spot, question, cost)
            }
            _ => self.call(&[named(question)], |redis| redis.see(question)),
        }?;
        if let (Some(spot), Some(host)) = (spot, &self.host) {
            host.remember(spot, question.limit, &reply);
            return Ok(with_held(host, spot, question, reply.answer));
        }
        Ok(reply.answer)
    }

    /// Asks for more than is needed now, if this worker is the one to.
    fn ask_ahead(
        &self,
        host: &Host<C>,
        spot: Spot,
        question: &Question<'_>,
        cost: u32,
    ) -> Result<Reply, Fault> {
        let Some(more) = host.ahead_of(spot, cost) else {
            return self.call(&[named(question)], |redis| redis.see(question));
        };
        let result = self.call(&[named(question)], |redis| redis.take_ahead(question, more));
        let (taken, on_top) = match &result {
            Ok((reply, on_top)) if reply.answer.decision.allowed => (cost + on_top, *on_top),
            _ => (0, 0),
        };
        host.keep(spot, taken, on_top);
        result.map(|(reply, _)| reply)
    }

    /// Answers without Redis: all by the strictest policy among them.
    #[cold]
    fn answer_without_redis(
        &self,
        questions: &[Question<'_>],
        fault: Fault,
    ) -> Result<Vec<Answer>, Fault> {
        match (strictest(questions), &self.fallback) {
            (Failure::Local, Some(fallback)) => fallback
                .answer(self.host.as_ref(), questions)
                // This host has no room either.
                .or_else(|_| answer_by_policy(questions, fault)),
            _ => answer_by_policy(questions, fault),
        }
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
        match (source, &self.fallback) {
            (Source::Redis | Source::Lease, _) => {
                self.call(&[named(question)], |redis| act(redis, question))
            }
            (Source::Fallback, Some(fallback)) => {
                let name = fallback.name_of(question.key);
                let key = Key {
                    name: &name,
                    ..question.key
                };
                act(fallback.store(), &Question { key, ..*question })
            }
            _ => Ok(nothing),
        }
    }
}

/// What a question's state is kept under.
fn named<'a>(question: &Question<'a>) -> (Key<'a>, Identity<'a>) {
    (question.key, question.limit.identity())
}

/// The bucket of a question that may be answered from a lease, and its cost.
#[inline(always)]
fn leased<'a>(question: &Question<'a>) -> Option<(&'a TokenBucket, u32)> {
    match question.limit {
        Limit::TokenBucket(bucket) if bucket.is_leased() => {
            let cost = u32::try_from(question.ask.cost).ok()?;
            let fits = (1..=bucket.capacity()).contains(&cost);
            fits.then_some((bucket, cost))
        }
        _ => None,
    }
}

/// What Redis said to be left, and what this host holds on top of it.
#[inline(always)]
fn with_held<C: Clock>(
    host: &Host<C>,
    spot: Spot,
    question: &Question<'_>,
    mut answer: Answer,
) -> Answer {
    if leased(question).is_some() {
        let decision = &mut answer.decision;
        let remaining = decision.remaining.saturating_add(host.held(spot));
        decision.remaining = remaining.min(decision.limit);
    }
    answer
}

fn count(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

impl<C: Clock> Store for Tiered<C> {
    #[inline(always)]
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        let mut spot = None;
        if question.limit.stateless(question.ask).is_some() {
            // Nobody is asked.
            return self.redis.decide(question);
        }
        if let Some(host) = &self.host {
            let here = host.spot(question);
            spot = Some(here);
            if let (Some((bucket, cost)), Mode::Take | Mode::Peek) =
                (leased(question), question.ask.mode)
                && let Some(answer) =
                    host.spend(here, bucket, cost, question.ask.mode == Mode::Take)
            {
                count(&self.counts.leased);
                return Ok(answer);
            }
            if let Some(answer) = self.near.refusal(host, here, question) {
                count(&self.counts.near);
                return Ok(with_held(host, here, question, answer));
            }
        }
        self.ask(question, spot).or_else(|fault| {
            let mut answers = self.answer_without_redis(std::slice::from_ref(question), fault)?;
            answers.pop().ok_or_else(|| Fault::new("no answer"))
        })
    }

    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
        let stateless = |question: &Question<'_>| question.limit.stateless(question.ask).is_some();
        if questions.iter().all(stateless) {
            return self.redis.decide_all(questions);
        }
        let mut spots = Vec::new();
        if let Some(host) = &self.host {
            if let Some(answers) = self.near.refusal_of_all(host, questions) {
                count(&self.counts.near);
                return Ok(answers);
            }
            spots.extend(questions.iter().map(|question| host.spot(question)));
        }
        // Nobody is asked about the others.
        let all = questions.iter().filter(|question| !stateless(question));
        let all: Vec<_> = all.map(named).collect();
        let replies = self.call(&all, |redis| redis.see_all(questions));
        let gave_back = self.redis.gave_back();
        if let (Some(host), Ok(replies)) = (&self.host, &replies) {
            for ((spot, question), reply) in spots.iter().zip(questions).zip(replies) {
                host.remember(*spot, question.limit, reply);
            }
        }
        let answers = match replies {
            Ok(replies) => Ok(replies.iter().map(|reply| reply.answer).collect()),
            Err(fault) => self.answer_without_redis(questions, fault),
        };
        if let (Some(host), true) = (&self.host, gave_back) {
            for (spot, question) in spots.iter().zip(questions) {
                host.set_aside(*spot, question.limit);
            }
        }
        answers
    }

    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault> {
        let spot = self.host.as_ref().map(|host| (host, host.spot(question)));
        if let (Some((host, spot)), Source::Lease) = (&spot, taken.source)
            && let Ok(cost) = u32::try_from(question.ask.cost)
            && host.give_back(*spot, cost)
        {
            return Ok(());
        }
        let given = self.where_decided(question, taken.source, (), |store, question| {
            store.refund(question, taken)
        });
        if let (Some((host, spot)), Source::Redis | Source::Lease) = (spot, taken.source) {
            host.set_aside(spot, question.limit);
        }
        given
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

    /// Forgets the key in Redis, and here what Redis said and what this host
    /// holds and counted by itself.
    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        if let Some(fallback) = &self.fallback {
            let name = fallback.name_of(key);
            let key = Key { name: &name, ..key };
            fallback.store().reset(key, limit)?;
        }
        let forgotten = self.call(&[(key, limit.identity())], |redis| redis.reset(key, limit));
        if let Some(host) = &self.host {
            let spot = host.spot_of(key, limit);
            host.forget(spot, limit);
            if let Limit::TokenBucket(_) = limit {
                host.drop_lease(spot);
            }
        }
        forgotten
    }

    fn status(&self) -> Status {
        let local = self.fallback.as_ref().map(|local| local.store().status());
        Status {
            redis: self.redis.status().redis,
            tiers: Some(TierStatus {
                near: self.near.lasts,
                near_refusals: self.counts.near.get(),
                leased: self.counts.leased.get(),
                breaker: self.breakers.status(self.now()),
            }),
            ..local.unwrap_or_default()
        }
    }
}
