//! The near state: what Redis last said of a key decides here, if it refuses.
//!
//! The last state of each key is kept for all workers of this host, and the pure
//! function of the limit runs on it, with the numbers and the cost of this very
//! question. Others can only have taken more since, so what it refuses Redis
//! would refuse as well; what it would allow Redis is asked about. That holds
//! until somebody gives tokens back, forgets a key, or takes from it under a
//! rate that is higher for a moment: here that drops the near state, elsewhere
//! it is seen when the near state is `sluice.near` old.
//!
//! **Time** is Redis' own. When a state is so old, by this host's clock, counted
//! from before it was asked for, Redis' clock shows no more than that later,
//! plus a thousandth for clocks that do not run alike. So a key is asked about
//! again a little before its time rather than after it, and what callers are
//! told to wait is counted from the other end, never too short.

use super::host::{Host, Spot};
use crate::limit::{Ask, Cells, Decision, Kind, Limit, Micros, Mode};
use crate::store::clock::Clock;
use crate::store::redis::Reply;
use crate::store::shm::near::{Near, Sighting};
use crate::store::{Answer, Question, Source, composite};

/// The part of its time after which a near state is asked for anew, by one
/// worker, while the others still go by it.
const OLD: (u64, u64) = (9, 10);

/// Clocks run alike to a millisecond in a second.
const DRIFT: u64 = 1000;

/// No call takes that long: a state that refuses nobody any more.
const SET_ASIDE: Micros = Micros(u32::MAX as u64);

/// The near states of one Redis, as far as they may be believed.
#[derive(Clone, Copy, Debug)]
pub struct NearBy {
    /// How old one may be.
    pub lasts: Micros,
}

impl NearBy {
    /// The refusal that Redis would give too.
    #[inline(always)]
    pub fn refusal<C: Clock>(
        self,
        host: &Host<C>,
        spot: Spot,
        question: &Question<'_>,
    ) -> Option<Answer> {
        if self.lasts == Micros::ZERO || question.ask.mode == Mode::Charge {
            return None;
        }
        self.answer(host, spot, question, question.ask)
            .filter(|answer| !answer.decision.allowed)
    }

    /// The answers to several questions of which one is refused. Nothing if
    /// none is, or one cannot be answered here.
    pub fn refusal_of_all<C: Clock>(
        self,
        host: &Host<C>,
        questions: &[Question<'_>],
    ) -> Option<Vec<Answer>> {
        if self.lasts == Micros::ZERO {
            return None;
        }
        let look = |question: &Question<'_>| {
            let look = Ask::peek(question.ask.cost);
            composite::stateless(question, Source::NearState)
                .or_else(|| self.answer(host, host.spot(question), question, look))
        };
        let answers = questions.iter().map(look).collect::<Option<Vec<_>>>()?;
        let refused = answers
            .iter()
            .zip(questions)
            .any(|(answer, question)| !answer.decision.allowed && !question.dry_run);
        refused.then_some(answers)
    }

    /// The answer by what is known, if that is not too old.
    #[inline(always)]
    fn answer<C: Clock>(
        self,
        host: &Host<C>,
        spot: Spot,
        question: &Question<'_>,
        ask: Ask,
    ) -> Option<Answer> {
        let near = || host.mapping().near();
        match question.limit {
            Limit::TokenBucket(kind) => self.judge(&near(), spot, kind, ask),
            Limit::FixedWindow(kind) => self.judge(&near(), spot, kind, ask),
            Limit::LeakyBucket(kind) => self.judge(&near(), spot, kind, ask),
            Limit::Quota(kind) => self.judge(&near(), spot, kind, ask),
            Limit::SlidingWindow(kind) => {
                self.judge(&host.mapping().near_windows(), spot, kind, ask)
            }
            Limit::Concurrency(_) | Limit::None | Limit::Deny => None,
        }
    }

    #[inline(always)]
    fn judge<K: Kind, const CELLS: usize>(
        self,
        near: &Near<'_, CELLS>,
        spot: Spot,
        kind: &K,
        ask: Ask,
    ) -> Option<Answer> {
        let seen = near.read::<K::State>(spot.place)?;
        let age = spot.now.since(seen.seen_at);
        if age >= self.lasts || seen.state.is_none() || seen.round_trip == SET_ASIDE {
            return None;
        }
        let drift = Micros(age.0.div_ceil(DRIFT));
        let at = seen.at.after(age).after(drift);
        let mut decision = kind.decide(seen.state, at, ask).decision;
        if decision.allowed {
            return Some(near_state(decision, at));
        }
        if age.0 * OLD.1 >= self.lasts.0 * OLD.0 && near.ask_anew(spot.place) {
            return None;
        }
        // Redis' clock may show as much less.
        let behind = seen.round_trip.after(drift).after(drift);
        decision.retry_after = decision.retry_after.map(|retry| retry.after(behind));
        decision.reset_after = decision.reset_after.after(behind);
        Some(near_state(decision, at))
    }
}

fn near_state(decision: Decision, at: Micros) -> Answer {
    Answer {
        decision,
        source: Source::NearState,
        at,
        permit: None,
    }
}

impl<C: Clock> Host<C> {
    /// Keeps what Redis said when it was asked at `spot`.
    pub fn remember(&self, spot: Spot, limit: &Limit, reply: &Reply) {
        if reply.state.is_some() {
            let seen = Sighting {
                seen_at: spot.now,
                at: reply.answer.at,
                round_trip: self.now().since(spot.now),
                denied: !reply.answer.decision.allowed,
                state: reply.state,
            };
            self.note(spot, limit, &seen);
        }
    }

    /// Has the near state of a key refuse nobody any more: something was given
    /// back. What this host goes on from without Redis it is still.
    pub fn set_aside(&self, spot: Spot, limit: &Limit) {
        let Some(seen) = self.last_seen(spot, limit) else {
            return self.forget(spot, limit);
        };
        let now = self.now();
        let aside = Sighting {
            seen_at: now,
            at: seen.at.after(now.since(seen.seen_at)),
            round_trip: SET_ASIDE,
            denied: false,
            state: seen.state,
        };
        self.note(spot, limit, &aside);
    }

    /// Drops the near state of a key. What is still on its way from before does
    /// not come in its place.
    pub fn forget(&self, spot: Spot, limit: &Limit) {
        let nothing = Sighting {
            seen_at: self.now(),
            at: Micros::ZERO,
            round_trip: Micros::ZERO,
            denied: false,
            state: None,
        };
        self.note(spot, limit, &nothing);
    }

    fn note(&self, spot: Spot, limit: &Limit, seen: &Sighting<Cells>) {
        let mapping = self.mapping();
        if let Limit::SlidingWindow(_) = limit {
            mapping.near_windows().write(spot.place, seen);
        } else {
            mapping.near().write(spot.place, seen);
        }
    }

    /// What Redis last said of a key, however long ago.
    pub fn last_seen(&self, spot: Spot, limit: &Limit) -> Option<Sighting<Cells>> {
        let mapping = self.mapping();
        if let Limit::SlidingWindow(_) = limit {
            mapping.near_windows().read(spot.place)
        } else {
            mapping.near().read(spot.place)
        }
    }
}
