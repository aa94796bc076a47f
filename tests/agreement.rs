//! The pure functions, memory, shared memory and the Lua scripts decide alike:
//! every field of every decision, whatever is asked and however time goes.
//!
//! The steps are random and come out the same in every run. A step that differs
//! is printed with its seed.

mod support;

use std::rc::Rc;

use sluice::limit::{
    Ask, Decision, FixedWindow, Key, LeakyBucket, Limit, MAX_PERIOD, Micros, Mode, Number, Period,
    Quota, SlidingWindow, TokenBucket,
};
use sluice::store::clock::ManualClock;
use sluice::store::{Question, Store};

use support::limits::{DAY, SECOND, question};
use support::model::Model;
use support::redis_server::RedisServer;
use support::rng::Rng;
use support::stores::{MADE_AT, START, Subject, Ttl};

/// Shared memory counts 2⁴⁸ µs, 8.9 years; a window made last may end a year
/// after that. Clocks stay well inside.
const HORIZON: Micros = Micros(MADE_AT.0 + 7 * 366 * DAY);

const KEYS: usize = 5;

/// What was met in a run, so that a run that meets too little is a failure.
#[derive(Debug, Default)]
struct Met {
    allowed: u32,
    denied: u32,
    never: u32,
    empty: u32,
    ahead: u32,
    resets: u32,
}

/// One sequence of questions to all stores.
struct Run {
    rng: Rng,
    seed: u64,
    now: Micros,
    limits: Vec<Limit>,
    clock: Rc<ManualClock>,
    model: Model,
    others: Vec<Subject>,
    limits_change: bool,
    /// The time after which the last question that was denied would pass.
    last_retry: u64,
    met: Met,
}

#[test]
fn all_stores_decide_alike_while_limits_change() {
    // A state is written for the rate of its day, and so is its TTL; whether
    // Redis still has it under a slower rate is not what is asked here.
    agree(12, 9_000, true, Ttl::Ignored);
}

#[test]
fn all_stores_decide_alike_while_states_expire() {
    agree(4, 6_000, false, Ttl::Applies);
}

fn agree(runs: u64, steps: u32, limits_change: bool, ttl: Ttl) {
    let server = RedisServer::start();
    let mut met = Met::default();
    for seed in 1..=runs {
        server.command(&["FLUSHALL"]);
        let mut run = Run::new(seed, &server, limits_change, ttl);
        for step in 0..steps {
            run.step(step);
        }
        met.add(&run.met);
    }
    let enough = u32::try_from(runs).unwrap_or(u32::MAX) * steps / 1000;
    for count in [
        met.allowed / 100,
        met.denied / 100,
        met.never / 20,
        met.empty / 20,
        met.ahead / 5,
        met.resets / 5,
    ] {
        assert!(count >= enough, "these steps miss something: {met:?}");
    }
}

impl Run {
    fn new(seed: u64, server: &RedisServer, limits_change: bool, ttl: Ttl) -> Self {
        let mut rng = Rng::seeded(seed);
        let clock = Rc::new(ManualClock::at(START));
        Self {
            limits: (0..KEYS).map(|_| any_limit(&mut rng)).collect(),
            rng,
            seed,
            now: START,
            model: Model::new(Rc::clone(&clock)),
            clock,
            others: vec![
                Subject::memory(),
                Subject::shared_memory(),
                Subject::lua(server, ttl),
            ],
            limits_change,
            last_retry: 0,
            met: Met::default(),
        }
    }

    fn step(&mut self, step: u32) {
        let index = self.rng.below(KEYS as u64) as usize;
        let name = [b'a' + index as u8];
        let key = Key::unnamed(&name);
        if self.limits_change && self.rng.chance(6) {
            self.limits[index] = changed(&mut self.rng, &self.limits[index]);
        }
        let limit = self.limits[index].clone();
        self.turn_the_clock(&limit);
        if self.rng.chance(1) {
            self.met.resets += 1;
            let _ = self.model.reset(key, &limit);
            for other in &self.others {
                other.reset(key, &limit);
            }
        }

        let ask = any_ask(&mut self.rng, &limit);
        let ahead = self.model.is_ahead_of(self.now, key, &limit);
        let expected = self
            .model
            .decide(&question(key, &limit, ask))
            .expect("the model always answers")
            .decision;
        let (seed, now, gives_back) = (self.seed, self.now, self.rng.chance(10));
        let place = || format!("seed {seed} step {step}: {ask:?} of {limit:?} at {now:?}");
        for other in &self.others {
            let decision = other.ask(key, &limit, ask);
            assert_eq!(decision, expected, "{} at {}", other.name, place());
        }
        check_figures(&expected, &limit, &place);
        // What lies ahead and was only looked at still lies ahead later.
        let looked = ask.mode == Mode::Peek || (ask.cost == 0 && expected.allowed);
        if !(ahead && looked) {
            self.check_times(key, &limit, ask, &expected, &place);
        }
        self.remember(&expected, ahead);
        if expected.allowed && ask.cost > 0 && gives_back {
            self.take_and_give_back(key, &limit, &place);
        }
    }

    /// Every store takes once more and gives a part of it back.
    fn take_and_give_back(&self, key: Key<'_>, limit: &Limit, place: &dyn Fn() -> String) {
        let question = question(key, limit, Ask::take(2));
        let taken = self.model.decide(&question).expect("the model answers");
        let one = Question {
            ask: Ask::take(1),
            ..question
        };
        if taken.decision.allowed {
            self.model.refund(&one, &taken).expect("the model answers");
        }
        let left = self.model.at(self.now, key, limit, Ask::peek(1));
        for other in &self.others {
            let answer = other.answer(key, limit, Ask::take(2));
            assert_eq!(
                answer.decision,
                taken.decision,
                "{} at {}",
                other.name,
                place()
            );
            if answer.decision.allowed {
                other.refund(key, limit, 1, &answer);
            }
            let decision = other.ask(key, limit, Ask::peek(1));
            assert_eq!(
                decision,
                left,
                "{} gave back otherwise at {}",
                other.name,
                place()
            );
        }
    }

    /// The times in a decision are exact, and the shortest there are.
    fn check_times(
        &self,
        key: Key<'_>,
        limit: &Limit,
        ask: Ask,
        decision: &Decision,
        place: &dyn Fn() -> String,
    ) {
        let retry = match ask.mode {
            Mode::Reserve(_) => ask,
            _ => Ask::take(ask.cost),
        };
        if let Some(wait @ Micros(1..)) = decision.retry_after {
            let at = |wait: u64| self.now.after(Micros(wait));
            let then = self.model.at(at(wait.0), key, limit, retry);
            let before = self.model.at(at(wait.0 - 1), key, limit, retry);
            assert!(then.allowed, "still denied after {wait:?}: {}", place());
            assert!(!before.allowed, "allowed before {wait:?}: {}", place());
        }
        let spent = |wait: u64| {
            let now = self.now.after(Micros(wait));
            let decision = self.model.at(now, key, limit, Ask::peek(0));
            decision.reset_after > Micros::ZERO || decision.remaining < decision.limit
        };
        let reset = decision.reset_after.0;
        assert!(!spent(reset), "not full after {reset}: {}", place());
        assert!(
            reset == 0 || spent(reset - 1),
            "full before {reset}: {}",
            place()
        );
    }

    fn remember(&mut self, decision: &Decision, ahead: bool) {
        self.met.allowed += u32::from(decision.allowed);
        self.met.denied += u32::from(!decision.allowed);
        self.met.never += u32::from(decision.retry_after.is_none());
        self.met.ahead += u32::from(ahead);
        self.met.empty += u32::from(decision.remaining == 0);
        if let Some(Micros(wait @ 1..)) = decision.retry_after {
            self.last_retry = wait;
        }
    }

    fn turn_the_clock(&mut self, limit: &Limit) {
        let token = time_of_a_token(limit);
        let (by, back) = match self.rng.below(20) {
            0..=4 => (0, false),
            5..=6 => (1, false),
            7..=8 => (token, false),
            9 => (token.saturating_sub(1), false),
            10 => (token + 1, false),
            11..=12 => (self.last_retry, false),
            13 => (self.last_retry.saturating_sub(1), false),
            14..=15 => (self.rng.below(10 * SECOND), false),
            16 => (self.rng.below(token.saturating_mul(50).min(DAY) + 1), false),
            17 => match self.rng.below(200) {
                0 => (366 * DAY, false),
                1..=20 => (self.rng.below(10 * DAY), false),
                _ => (limit.period().0.min(DAY), false),
            },
            18 => (self.rng.pick(&[1, token, SECOND]), true),
            _ => (self.rng.below(DAY / 24), true),
        };
        let next = if back {
            self.now.0.saturating_sub(by).max(MADE_AT.0)
        } else {
            self.now.0.saturating_add(by)
        };
        // Steps that lead out of the range of the tables are not taken.
        if next != self.now.0 && next < HORIZON.0 {
            self.now = Micros(next);
            self.clock.set(self.now);
            for other in &self.others {
                other.set_time(self.now);
            }
        }
    }
}

impl Met {
    fn add(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.never += other.never;
        self.empty += other.empty;
        self.ahead += other.ahead;
        self.resets += other.resets;
    }
}

/// What holds for every decision by itself.
fn check_figures(decision: &Decision, limit: &Limit, place: &dyn Fn() -> String) {
    assert_eq!(decision.limit, limit.size(), "{}", place());
    assert!(decision.remaining <= decision.limit, "{}", place());
    assert_eq!(
        decision.allowed,
        decision.retry_after == Some(Micros::ZERO),
        "{}",
        place()
    );
}

fn time_of_a_token(limit: &Limit) -> u64 {
    match limit {
        Limit::TokenBucket(bucket) => bucket.rate().map_or(1, |rate| rate.time_for(1).0),
        Limit::LeakyBucket(bucket) => bucket.rate().map_or(1, |rate| rate.time_for(1).0),
        other => other.period().0,
    }
}

fn any_ask(rng: &mut Rng, limit: &Limit) -> Ask {
    let size = u64::from(limit.size());
    let cost = match rng.below(16) {
        0 => 0,
        1..=7 => 1,
        8 => 2,
        9..=10 => size,
        11 => size + 1,
        12 => rng.pick(&[1 << 25, 1 << 40, 1 << 53, u64::MAX]),
        _ => rng.below(size + 1),
    };
    Ask {
        cost,
        mode: match rng.below(20) {
            0..=13 => Mode::Take,
            14..=16 => Mode::Peek,
            17 if matches!(limit, Limit::TokenBucket(_) | Limit::LeakyBucket(_)) => Mode::Reserve(
                Micros(rng.below(time_of_a_token(limit).saturating_mul(3) + 1)),
            ),
            _ => Mode::Charge,
        },
    }
}

fn any_limit(rng: &mut Rng) -> Limit {
    match rng.below(10) {
        0..=3 => any_bucket(rng),
        4 => any_queue(rng),
        5..=6 => {
            let length = rng.pick(&LENGTHS);
            let limit = FixedWindow::new(any_size(rng), length).expect("all of these are windows");
            Limit::FixedWindow(if limit.limit() % 3 == 1 {
                limit.as_opened()
            } else {
                limit
            })
        }
        7..=8 => {
            let length = rng.pick(&SLIDING_LENGTHS);
            let limit = SlidingWindow::new(any_size(rng), length);
            Limit::SlidingWindow(limit.expect("all of these are windows"))
        }
        _ => {
            let period = rng.pick(&[Period::Hour, Period::Day, Period::Week, Period::Month]);
            let zone = rng.pick(&[
                "UTC",
                "Asia/Shanghai",
                "America/New_York",
                "Australia/Lord_Howe",
            ]);
            let limit = Quota::new(any_size(rng), period, zone);
            Limit::Quota(limit.expect("all of these are zones"))
        }
    }
}

const LENGTHS: [Number; 6] = [
    Number::Float(1e-6),
    Number::Float(0.25),
    Number::Int(1),
    Number::Int(60),
    Number::Int(3600),
    Number::Int((MAX_PERIOD.0 / SECOND) as i64),
];

/// Windows whose cells begin at the same instants by Unix time and by the time
/// of a table, for cells are counted from a clock's 0.
const SLIDING_LENGTHS: [Number; 6] = [
    Number::Float(1e-6),
    Number::Float(17e-6),
    Number::Float(0.25),
    Number::Int(1),
    Number::Int(60),
    Number::Int(7200),
];

fn any_rate(rng: &mut Rng) -> Number {
    if rng.chance(50) {
        Number::Int(rng.pick(&[0, 1, 2, 7, 20, 1000, 999_983, 1_000_000]))
    } else {
        Number::Float(rng.pick(&[
            1.0 / 60.0,
            1.0 / 3.0,
            0.1,
            16.67,
            std::f64::consts::PI,
            123_456.789,
            1001.0 / 86_400.0,
            1.0 / 2_592_000.0,
            1.0 / 31_622_400.0,
        ]))
    }
}

fn any_bucket(rng: &mut Rng) -> Limit {
    loop {
        // A large bucket with a slow rate is refused; then another.
        if let Ok(bucket) = TokenBucket::new(any_size(rng), any_rate(rng)) {
            return Limit::TokenBucket(bucket);
        }
    }
}

fn any_queue(rng: &mut Rng) -> Limit {
    loop {
        let rate = any_rate(rng);
        if let Ok(queue) = LeakyBucket::with_period(any_size(rng), rate, Number::Int(1)) {
            return Limit::LeakyBucket(queue);
        }
    }
}

fn any_size(rng: &mut Rng) -> i64 {
    match rng.below(12) {
        0 => 0,
        1..=2 => 1,
        3 => 2,
        4..=7 => 10,
        8 => 1000,
        9 => 32_000_000,
        _ => rng.below(2000) as i64,
    }
}

/// Another limit for the same key: its numbers change, or all of it.
fn changed(rng: &mut Rng, limit: &Limit) -> Limit {
    match limit {
        Limit::FixedWindow(window) if rng.chance(70) => {
            let size = any_size(rng);
            let limit = if let Some(length) = window.own_length() {
                FixedWindow::new(size, Number::Float(length.as_secs_f64()))
            } else {
                let length = LENGTHS[usize::try_from(size).unwrap_or(0) % LENGTHS.len()];
                FixedWindow::new(size, length).map(|limit| limit.as_opened())
            };
            Limit::FixedWindow(limit.expect("its length was one before"))
        }
        Limit::SlidingWindow(window) if rng.chance(70) => {
            let length = Number::Float(window.length().as_secs_f64());
            let limit = SlidingWindow::new(any_size(rng), length);
            Limit::SlidingWindow(limit.expect("its length was one before"))
        }
        Limit::TokenBucket(_) if rng.chance(90) => any_bucket(rng),
        Limit::LeakyBucket(_) if rng.chance(90) => any_queue(rng),
        _ => any_limit(rng),
    }
}
