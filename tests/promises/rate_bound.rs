//! Over any interval a bucket admits at most capacity + rate · T, and what it
//! may admit it does admit: time mints no tokens and loses none.

use proptest::prelude::*;
use sluice::limit::{Key, Limit, Micros, Rate};

use crate::support::limits::{SECOND, bucket, slow_bucket};
use crate::support::stores::{Subjects, on_every_store};

/// Few enough that Lua takes part in all of them.
fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: 48,
        // A run leaves no files behind; a failure prints its smallest case.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Buckets of 2 to 30 tokens with rates of all sorts.
fn any_bucket() -> impl Strategy<Value = Limit> {
    let rate = prop_oneof![
        (1_i64..2000).prop_map(|rate| rate as f64),
        Just(1_000_000.0),
        Just(1.0 / 3.0),
        Just(1.0 / 60.0),
        Just(16.67),
        Just(std::f64::consts::E),
    ];
    (2_i64..30, rate).prop_map(|(capacity, rate)| slow_bucket(capacity, rate))
}

fn rate_of(limit: &Limit) -> Rate {
    match limit {
        Limit::TokenBucket(bucket) => bucket.rate().expect("a rate"),
        other => panic!("{other:?} has no rate"),
    }
}

/// How many whole tokens come back in `time`.
fn refill(rate: Rate, time: Micros) -> u64 {
    let tokens = u128::from(time.0) * u128::from(rate.tokens()) / u128::from(rate.period());
    u64::try_from(tokens).expect("not that much time passes")
}

#[test]
fn no_interval_admits_more_than_capacity_and_refill() {
    let subjects = Subjects::start();
    // A step waits for a part of the time that a token takes.
    let steps = prop::collection::vec((0_u64..300, 1_u64..4), 1..70);
    proptest!(cases(), |(limit in any_bucket(), steps in steps)| {
        let rate = rate_of(&limit);
        let token = rate.time_for(1).0;
        for subject in subjects.iter() {
            subject.reset(Key::unnamed(b"k"), &limit);
            let mut admitted: Vec<(Micros, u64)> = Vec::new();
            for (part, cost) in &steps {
                subject.advance(token * part / 100);
                if subject.take("k", &limit, *cost).allowed {
                    admitted.push((subject.now(), *cost));
                }
            }
            for (first, (start, _)) in admitted.iter().enumerate() {
                let mut sum = 0;
                for (end, cost) in &admitted[first..] {
                    sum += cost;
                    let most = u64::from(limit.size()) + refill(rate, end.since(*start));
                    prop_assert!(sum <= most, "{}: {sum} of {most}", subject.name);
                }
            }
        }
    });
}

#[test]
fn a_bucket_that_is_never_full_gives_out_every_token_of_its_rate() {
    let subjects = Subjects::start();
    // In hundredths of the time in which all tokens but one come back.
    let waits = prop::collection::vec(0_u64..100, 1..12);
    proptest!(cases(), |(limit in any_bucket(), waits in waits)| {
        let rate = rate_of(&limit);
        let longest = rate.time_for(limit.size() - 1).0;
        for subject in subjects.iter() {
            subject.reset(Key::unnamed(b"k"), &limit);
            let start = subject.now();
            let mut admitted = 0;
            for wait in std::iter::once(&0).chain(&waits) {
                subject.advance(longest * wait / 100);
                while subject.take("k", &limit, 1).allowed {
                    admitted += 1;
                }
            }
            let due = u64::from(limit.size()) + refill(rate, subject.now().since(start));
            prop_assert_eq!(admitted, due, "{}", subject.name);
        }
    });
}

#[test]
fn a_drained_bucket_is_not_full_after_a_tenth_of_a_token() {
    on_every_store(|store| {
        let limit = slow_bucket(10, 1.0 / 60.0);
        assert!(store.take("k", &limit, 10).allowed);
        store.advance(6 * SECOND);
        let decision = store.take("k", &limit, 1);
        assert!(!decision.allowed);
        assert_eq!(decision.remaining, 0);
        assert_eq!(decision.retry_after, Some(Micros(54 * SECOND)));
        assert_eq!(decision.reset_after, Micros(594 * SECOND));
    });
}

#[test]
fn hammering_for_half_a_minute_admits_what_the_rate_brings() {
    on_every_store(|store| {
        let limit = bucket(10, 2);
        let mut admitted = 0;
        for _ in 0..=30_000 {
            admitted += u32::from(store.take("k", &limit, 1).allowed);
            store.advance(1000);
        }
        assert_eq!(admitted, 70);
    });
}
