//! Random questions from two hosts of two workers, whose clocks drift apart:
//! what Redis answers is what the model answers, and what a near state refuses
//! the model would refuse as well, and for as long.

use sluice::limit::{
    Ask, FixedWindow, Key, LeakyBucket, Limit, Micros, Mode, Number, Period, Quota, SlidingWindow,
    TokenBucket,
};
use sluice::store::{Answer, Question, Source, Store};

use crate::fleet::{Fleet, NEAR};
use crate::support::limits::{SECOND, question};
use crate::support::model::Model;
use crate::support::rng::Rng;

const KEYS: usize = 4;
const HOSTS: usize = 2;
const WORKERS: usize = 2;

/// What was met, so that a run that meets too little is a failure.
#[derive(Debug, Default)]
struct Met {
    near: u32,
    allowed: u32,
    denied: u32,
    stale: u32,
    looks: u32,
}

#[test]
fn a_near_state_never_refuses_what_redis_would_allow() {
    let mut met = Met::default();
    for seed in 1..=6 {
        run(seed, 5000, &mut met);
    }
    assert!(met.near > 3000, "{met:?}");
    assert!(met.allowed > 3000, "{met:?}");
    assert!(met.denied > 300, "{met:?}");
    assert!(met.looks > 300, "{met:?}");
    assert!(met.stale > 20, "{met:?}");
}

fn run(seed: u64, steps: u32, met: &mut Met) {
    let fleet = Fleet::start(HOSTS, WORKERS);
    let model = Model::new(std::rc::Rc::clone(&fleet.time));
    let mut rng = Rng::seeded(seed);
    let mut limits: Vec<_> = (0..KEYS).map(|kind| any_limit(&mut rng, kind)).collect();
    // When something was last given back, and on which host; a rate that is
    // raised and lowered again gives back too, on no host.
    let mut given_back: [Option<(usize, Micros)>; KEYS] = [None; KEYS];
    for step in 0..steps {
        turn_the_clock(&mut rng, &fleet);
        let index = rng.below(KEYS as u64) as usize;
        if rng.chance(3) {
            limits[index] = any_limit(&mut rng, index);
            given_back[index] = Some((HOSTS, fleet.now()));
        }
        let (limit, name) = (limits[index].clone(), [b'a' + index as u8]);
        let key = Key::unnamed(&name);
        let host = rng.below(HOSTS as u64) as usize;
        let worker = &fleet.hosts[host].workers[rng.below(WORKERS as u64) as usize];
        let now = fleet.now();
        if rng.chance(1) {
            worker.reset(key, &limit).expect("Redis answers");
            model.reset(key, &limit).expect("the model answers");
            given_back[index] = Some((host, now));
        }
        let ask = any_ask(&mut rng, &limit);
        let asked = question(key, &limit, ask);
        let place = || format!("seed {seed} step {step}: host {host}, {ask:?} of {limit:?}");
        let answer = worker.decide(&asked).expect("an answer");
        match answer.source {
            Source::Redis => {
                let expected = model.decide(&asked).expect("the model answers");
                assert_eq!(answer.decision, expected.decision, "{}", place());
                met.allowed += u32::from(answer.decision.allowed);
                met.denied += u32::from(!answer.decision.allowed);
                if answer.decision.allowed && ask.mode == Mode::Take && rng.chance(8) {
                    let back = Question {
                        ask: Ask::take(ask.cost),
                        ..asked
                    };
                    worker.refund(&back, &answer).expect("Redis answers");
                    model.refund(&back, &expected).expect("the model answers");
                    given_back[index] = Some((host, now));
                }
            }
            Source::NearState => {
                met.near += 1;
                met.looks += u32::from(ask.mode == Mode::Peek);
                // Where another host has given back lately, it cannot be known
                // here; where this one has, it must be.
                let elsewhere = given_back[index]
                    .is_some_and(|(by, when)| by != host && now.since(when) <= NEAR);
                let expected = model.at(now, key, &limit, ask);
                if elsewhere && expected != answer.decision {
                    met.stale += 1;
                    continue;
                }
                check_refusal(&answer, expected, &place);
            }
            other => panic!("{other:?}: {}", place()),
        }
    }
}

fn check_refusal(answer: &Answer, expected: sluice::limit::Decision, place: &dyn Fn() -> String) {
    let near = answer.decision;
    assert!(!near.allowed, "{}", place());
    assert!(!expected.allowed, "Redis would allow: {}", place());
    assert_eq!(near.limit, expected.limit, "{}", place());
    match (near.retry_after, expected.retry_after) {
        (None, None) => {}
        (Some(near), Some(expected)) => {
            // Others may have taken more since, and then it is longer than is
            // known here; by clocks alone it is never shorter.
            assert!(near.0 < expected.0 + 3000, "too late: {}", place());
        }
        other => panic!("{other:?}: {}", place()),
    }
}

fn turn_the_clock(rng: &mut Rng, fleet: &Fleet) {
    let by = match rng.below(12) {
        0..=3 => return,
        4..=6 => rng.below(1000),
        7..=8 => rng.below(20_000),
        9 => rng.below(200_000),
        10 => rng.below(2 * SECOND),
        _ if rng.chance(10) => rng.below(100 * SECOND),
        _ => 1,
    };
    fleet.advance(by);
}

fn any_ask(rng: &mut Rng, limit: &Limit) -> Ask {
    let cost = match rng.below(10) {
        0 => 0,
        1..=6 => 1,
        7 => u64::from(limit.size()),
        8 => u64::from(limit.size()) + 1,
        _ => rng.below(u64::from(limit.size()) + 1),
    };
    let mode = match rng.below(20) {
        0..=14 => Mode::Take,
        15..=17 => Mode::Peek,
        18 if matches!(limit, Limit::TokenBucket(_) | Limit::LeakyBucket(_)) => {
            Mode::Reserve(Micros(rng.below(SECOND)))
        }
        _ => Mode::Charge,
    };
    Ask { cost, mode }
}

/// Each key keeps to a kind, so that its limit changes and not its state's form.
fn any_limit(rng: &mut Rng, kind: usize) -> Limit {
    let size = rng.pick(&[1, 2, 5, 10, 100]);
    let rate = rng.pick(&[
        Number::Int(1),
        Number::Int(7),
        Number::Int(1000),
        Number::Float(0.1),
    ]);
    match kind {
        0 => Limit::TokenBucket(TokenBucket::new(size, rate).expect("a bucket")),
        1 if rng.chance(50) => {
            let queue = LeakyBucket::with_period(size, rate, Number::Int(1));
            Limit::LeakyBucket(queue.expect("a queue"))
        }
        1 => Limit::Quota(Quota::new(size, Period::Hour, "Asia/Kolkata").expect("a quota")),
        2 => Limit::FixedWindow(FixedWindow::new(size, Number::Int(2)).expect("a window")),
        _ => Limit::SlidingWindow(SlidingWindow::new(size, Number::Int(3)).expect("a window")),
    }
}

#[test]
fn what_a_near_state_tells_callers_to_wait_is_never_too_short() {
    for (host, kind) in (0..HOSTS).flat_map(|host| (0..KEYS).map(move |kind| (host, kind))) {
        let fleet = Fleet::start(HOSTS, 1);
        let model = Model::new(std::rc::Rc::clone(&fleet.time));
        let mut rng = Rng::seeded(kind as u64 + 100);
        let worker = fleet.worker(host);
        for round in 0..300 {
            let limit = any_limit(&mut rng, kind);
            let key = format!("{round}");
            let key = Key::unnamed(key.as_bytes());
            let asked = question(
                key,
                &limit,
                Ask::take(1 + rng.below(u64::from(limit.size()))),
            );
            while worker.decide(&asked).expect("an answer").source == Source::Redis
                && model.decide(&asked).expect("the model").decision.allowed
            {
                fleet.advance(rng.below(2000));
            }
            let answer = loop {
                fleet.advance(rng.below(50_000));
                let answer = worker.decide(&asked).expect("an answer");
                if answer.source == Source::Redis {
                    model.decide(&asked).expect("the model");
                }
                if answer.source == Source::NearState || answer.decision.allowed {
                    break answer;
                }
            };
            if let (Source::NearState, Some(retry)) = (answer.source, answer.decision.retry_after) {
                let now = fleet.now();
                let then = model.at(now.after(retry), key, &limit, asked.ask);
                assert!(then.allowed, "still refused after {retry:?}: {asked:?}");
                let exact = model.at(now, key, &limit, asked.ask).retry_after;
                let late = retry.since(exact.expect("it is refused"));
                assert!(late < Micros(2100), "{late:?} too late: {asked:?}");
            }
        }
    }
}
