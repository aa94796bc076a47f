//! Tokens taken ahead: never more is given out than Redis was charged for, and
//! what can be lost is known.

use sluice::limit::{Ask, Key, Limit, Micros, Number, TokenBucket};
use sluice::store::{Question, Source, Store};

use crate::fleet::{Fleet, ask, take};
use crate::support::limits::{SECOND, bucket, question};
use crate::support::rng::Rng;

/// How long tokens that were taken ahead can be given out.
const LASTS: u64 = SECOND / 10;

fn leased(capacity: i64, rate: Number) -> Limit {
    let bucket = TokenBucket::new(capacity, rate).expect("a bucket");
    Limit::TokenBucket(bucket.leased())
}

/// From which nothing comes back while a test runs.
fn still(capacity: i64) -> Limit {
    leased(capacity, Number::Float(1.0 / 86_400.0))
}

#[test]
fn hosts_together_never_give_out_more_than_there_is_and_lose_only_what_lapsed() {
    for seed in 1..=12 {
        let mut rng = Rng::seeded(seed);
        let fleet = Fleet::start(3, 2);
        let capacity = 50 + rng.below(3000);
        let limit = still(capacity as i64);
        let (mut given, mut refused_at_last) = (0, 0);
        while refused_at_last < 40 {
            let host = &fleet.hosts[rng.below(3) as usize];
            let worker = &host.workers[rng.below(2) as usize];
            let cost = rng.pick(&[1, 1, 1, 1, 2, 5]);
            let asked = question(Key::unnamed(b"k"), &limit, Ask::take(cost));
            let answer = worker.decide(&asked).expect("an answer");
            if answer.decision.allowed {
                refused_at_last = 0;
                given += cost;
                if rng.chance(5) {
                    worker.refund(&asked, &answer).expect("Redis answers");
                    given -= cost;
                }
            } else {
                refused_at_last += 1;
            }
            assert!(given <= capacity, "seed {seed}: {given} of {capacity}");
            fleet.advance(match rng.below(100) {
                0 => 2 * LASTS,
                1..=30 => rng.below(5000),
                _ => 0,
            });
        }
        let lost = capacity - given - in_redis(&fleet, &limit);
        assert!(lost < capacity / 2, "seed {seed}: {lost} of {capacity}");
    }
}

#[test]
fn a_hot_key_costs_redis_little() {
    let fleet = Fleet::start(1, 4);
    let limit = leased(20_000, Number::Int(20_000));
    let before = fleet.calls();
    let workers = &fleet.hosts[0].workers;
    let mut leased = 0;
    // Ten thousand a second, for a second.
    for number in 0..10_000_usize {
        fleet.time.advance(Micros(100));
        let answer = if number % 50 == 0 {
            fleet.advance(0);
            take(&workers[number / 50 % 4], "k", &limit, 1)
        } else {
            take(&workers[number % 4], "k", &limit, 1)
        };
        assert!(answer.decision.allowed);
        leased += u32::from(answer.source == Source::Lease);
    }
    let calls = fleet.calls() - before;
    assert!(calls < 100, "{calls} calls for 10 000 decisions");
    assert_eq!(u64::from(10_000 - leased), calls);
}

#[test]
fn a_key_that_is_not_hot_is_not_taken_ahead() {
    let fleet = Fleet::start(1, 1);
    let limit = still(1000);
    for taken in 1..=20 {
        let answer = take(fleet.worker(0), "k", &limit, 1);
        assert_eq!(answer.source, Source::Redis);
        assert_eq!(answer.decision.remaining, 1000 - taken);
        fleet.advance(3 * LASTS);
    }
    assert_eq!(in_redis(&fleet, &limit), 980, "nothing was lost");
}

#[test]
fn redis_gives_a_quarter_of_what_is_left_at_most_and_counts_it_all() {
    let fleet = Fleet::start(1, 1);
    let redis = fleet.redis();
    let limit = still(400);
    let mut left: u32 = 400;
    for (cost, wanted) in [
        (1, 50),
        (1, 1000),
        (100, 7),
        (5, 1000),
        (0, 9),
        (80, 3),
        (200, 1),
    ] {
        let asked = question(Key::unnamed(b"k"), &limit, Ask::take(cost));
        let (reply, on_top) = redis.take_ahead(&asked, wanted).expect("an answer");
        let cost = cost as u32;
        let decision = reply.answer.decision;
        assert_eq!(decision.allowed, cost <= left);
        if decision.allowed && cost > 0 {
            left -= cost;
            assert_eq!(on_top, wanted.min(left / 4));
            left -= on_top;
        } else {
            assert_eq!(on_top, 0);
        }
        assert_eq!(decision.remaining, left);
        assert_eq!(decision.delay, Micros::ZERO);
    }
    assert!(left < 100, "the limit was near");
}

#[test]
fn what_is_left_is_told_and_can_be_had_to_the_last_token() {
    let fleet = Fleet::start(1, 1);
    let limit = still(400);
    for given in 1..=400 {
        let decision = take(fleet.worker(0), "k", &limit, 1).decision;
        assert!(decision.allowed);
        assert_eq!(decision.remaining, 400 - given);
    }
    let refused = take(fleet.worker(0), "k", &limit, 1).decision;
    assert!(!refused.allowed && refused.retry_after > Some(Micros::ZERO));
}

#[test]
fn what_is_held_is_told_where_it_is_too_little() {
    let fleet = Fleet::start(1, 1);
    let limit = still(1000);
    let worker = fleet.worker(0);
    let mut left = 1000;
    while left > 3 {
        // Near the limit a few are held, and less than that are in Redis.
        left = take(worker, "k", &limit, 1).decision.remaining;
    }
    let refused = take(worker, "k", &limit, 4).decision;
    assert!(!refused.allowed);
    assert_eq!(refused.remaining, 3);
    for _ in 0..3 {
        assert!(take(worker, "k", &limit, 1).decision.allowed);
    }
    assert!(!take(worker, "k", &limit, 1).decision.allowed);
}

#[test]
fn a_host_that_falls_silent_loses_no_more_than_twice_what_it_used_in_a_leases_time() {
    for every in [50, 200, 1000, 7000, 30_000] {
        let fleet = Fleet::start(1, 1);
        let limit = still(20_000);
        let mut given = 0;
        // It may fall silent at any time.
        for silent_after in 200..230 {
            for _ in 0..silent_after {
                assert!(take(fleet.worker(0), "k", &limit, 1).decision.allowed);
                given += 1;
                fleet.advance(every);
            }
            let before = 20_000 - in_redis(&fleet, &limit);
            fleet.advance(SECOND);
            let lost = before - given;
            let used = LASTS / every;
            assert!(lost <= 2 * used + 2, "{lost} lost, {used} used at {every}");
            // What was lost before is not counted again.
            given += lost;
        }
    }
}

fn in_redis(fleet: &Fleet, limit: &Limit) -> u64 {
    let asked = question(Key::unnamed(b"k"), limit, Ask::peek(0));
    let look = fleet.redis().decide(&asked).expect("an answer");
    look.decision.remaining.into()
}

#[test]
fn tokens_that_are_not_used_lapse() {
    let fleet = Fleet::start(1, 1);
    let limit = still(1000);
    let worker = fleet.worker(0);
    let mut from_lease = 0;
    while from_lease < 20 {
        let answer = take(worker, "k", &limit, 1);
        from_lease += u32::from(answer.source == Source::Lease);
    }
    assert_eq!(ask(worker, "k", &limit, Ask::peek(1)).source, Source::Lease);
    fleet.advance(LASTS + 2000);
    assert_eq!(take(worker, "k", &limit, 1).source, Source::Redis);
}

#[test]
fn what_a_lease_gave_goes_back_to_it_or_to_redis() {
    let fleet = Fleet::start(1, 1);
    let limit = still(1000);
    let worker = fleet.worker(0);
    let taken = loop {
        let answer = take(worker, "k", &limit, 1);
        if answer.source == Source::Lease {
            break answer;
        }
    };
    let asked = question(Key::unnamed(b"k"), &limit, Ask::take(1));
    let held = |fleet: &Fleet| {
        ask(fleet.worker(0), "k", &limit, Ask::peek(1))
            .decision
            .remaining
    };
    let before = held(&fleet);
    let calls = fleet.calls();
    worker.refund(&asked, &taken).expect("it is given back");
    assert_eq!(held(&fleet), before + 1);
    assert_eq!(fleet.calls(), calls, "to the lease");
    fleet.advance(LASTS + 2000);
    let before = held(&fleet);
    worker.refund(&asked, &taken).expect("Redis answers");
    assert_eq!(held(&fleet), before + 1, "to Redis");
}

#[test]
fn tokens_that_came_back_by_themselves_are_not_given_back_once_more() {
    let fleet = Fleet::start(1, 1);
    let limit = leased(200, Number::Int(1000));
    let worker = fleet.worker(0);
    let asked = question(Key::unnamed(b"k"), &limit, Ask::take(1));
    let mut taken = Vec::new();
    for _ in 0..400 {
        taken.push(take(worker, "k", &limit, 1));
        fleet.advance(1000);
    }
    taken.retain(|answer| answer.source == Source::Lease);
    assert!(taken.len() > 300);
    // The bucket is full again, and of that something is held.
    fleet.advance(SECOND);
    for _ in 0..4 {
        assert!(take(worker, "k", &limit, 1).decision.allowed);
    }
    for answer in &taken {
        worker.refund(&asked, answer).expect("Redis answers");
    }
    let admitted = (0..500).filter(|_| take(worker, "k", &limit, 1).decision.allowed);
    // And the handful that the host holds by now.
    let admitted = admitted.count();
    assert!((200..=210).contains(&admitted), "{admitted} of 200");
}

#[test]
fn a_reset_gives_up_what_is_held() {
    let fleet = Fleet::start(1, 1);
    let limit = still(100);
    let worker = fleet.worker(0);
    for _ in 0..20 {
        take(worker, "k", &limit, 1);
    }
    assert_eq!(ask(worker, "k", &limit, Ask::peek(1)).source, Source::Lease);
    let asked = question(Key::unnamed(b"k"), &limit, Ask::take(1));
    worker.reset(asked.key, &limit).expect("Redis answers");
    let first = take(worker, "k", &limit, 1);
    assert_eq!(
        (first.source, first.decision.remaining),
        (Source::Redis, 99)
    );
}

#[test]
fn what_is_held_is_given_out_while_redis_is_away() {
    let mut fleet = Fleet::start(1, 1);
    let limit = still(1000);
    let mut last = take(fleet.worker(0), "k", &limit, 1);
    for _ in 0..40 {
        last = take(fleet.worker(0), "k", &limit, 1);
    }
    assert_eq!(last.source, Source::Lease);
    fleet.server.stop();
    let mut by = Vec::new();
    for _ in 0..200 {
        by.push(take(fleet.worker(0), "k", &limit, 1).source);
    }
    assert_eq!(by[0], Source::Lease);
    assert_eq!(by[199], Source::Fallback);
}

#[test]
fn charges_bookings_and_composites_ask_redis() {
    let fleet = Fleet::start(1, 1);
    let limit = still(1000);
    let worker = fleet.worker(0);
    while take(worker, "k", &limit, 1).source != Source::Lease {}
    for other in [Ask::charge(1), Ask::reserve(1, Micros(SECOND))] {
        assert_eq!(ask(worker, "k", &limit, other).source, Source::Redis);
    }
    let asked: [Question<'_>; 2] =
        [b"k", b"l"].map(|key| question(Key::unnamed(key), &limit, Ask::take(1)));
    let answers = worker.decide_all(&asked).expect("answers");
    assert!(answers.iter().all(|answer| answer.source == Source::Redis));
}

#[test]
fn leased_or_not_a_bucket_is_the_same_and_its_rate_is_kept() {
    let fleet = Fleet::start(2, 1);
    let limit = leased(100, Number::Int(1000));
    // A second host keeps asking without leases.
    let other = bucket(100, 1000);
    let mut given = 0_u64;
    for _ in 0..2000 {
        given += u64::from(take(fleet.worker(0), "k", &limit, 1).decision.allowed);
        given += u64::from(take(fleet.worker(1), "k", &other, 1).decision.allowed);
        fleet.advance(500);
    }
    // A second at a thousand a second, and the bucket itself.
    assert!(given <= 100 + 1000, "{given}");
    assert!(given >= 1000, "{given}: little is lost where all is used");
}
