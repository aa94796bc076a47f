//! Tokens of a time to come: reservations, debts, and what is given back.

use sluice::limit::{Ask, Key, Limit, Micros, Period};

use crate::support::limits::{DAY, SECOND, bucket, queue, quota, sliding, slow_bucket, window};
use crate::support::rng::Rng;
use crate::support::stores::{Subject, on_every_store};

const KEY: Key<'static> = Key {
    name: b"",
    bytes: b"k",
};

/// One of every kind that counts; all take ten.
fn kinds() -> [Limit; 5] {
    [
        bucket(10, 1),
        queue(10, 1),
        window(10, 60),
        sliding(10, Micros(60 * SECOND)),
        quota(10, Period::Day, "America/New_York"),
    ]
}

#[test]
fn a_bucket_books_ahead_as_far_as_it_may() {
    on_every_store(|store| {
        let limit = bucket(5, 10);
        let reserve = |cost, most| store.ask(KEY, &limit, Ask::reserve(cost, Micros(most)));
        let at_once = reserve(5, SECOND);
        assert!(at_once.allowed);
        assert_eq!(at_once.delay, Micros::ZERO);
        for place in 1..=10 {
            let booked = reserve(1, SECOND);
            assert!(booked.allowed, "place {place}");
            assert_eq!(booked.delay, Micros(place * 100_000));
            assert_eq!(booked.remaining, 0);
        }
        let late = reserve(1, SECOND);
        assert!(!late.allowed);
        assert_eq!(late.retry_after, Some(Micros(100_000)));
        assert_eq!(late.delay, Micros::ZERO);
        assert!(!store.take("k", &limit, 1).allowed, "all is booked");
        store.advance(1_100_000);
        assert!(store.take("k", &limit, 1).allowed);
        assert_eq!(reserve(6, 100 * SECOND).retry_after, None);
    });
}

#[test]
fn a_debt_outlives_the_time_a_full_bucket_would_be_kept() {
    on_every_store(|store| {
        for limit in [bucket(10, 1), queue(10, 1)] {
            store.reset(KEY, &limit);
            assert!(!store.charge("k", &limit, 100_000).allowed);
            store.advance(DAY);
            let denied = store.take("k", &limit, 1);
            assert!(!denied.allowed, "{limit:?}");
            let due = 100_000 - 86_400 - 10 + 1;
            assert_eq!(denied.retry_after, Some(Micros(due * SECOND)));
            store.advance(due * SECOND - 1);
            assert!(!store.take("k", &limit, 1).allowed, "{limit:?}");
            store.advance(1);
            assert!(store.take("k", &limit, 1).allowed, "{limit:?}");
        }
        let slow = slow_bucket(2, 1.0 / 86_400.0);
        store.charge("slow", &slow, 30);
        store.advance(27 * DAY);
        assert!(!store.take("slow", &slow, 1 + 1).allowed);
        store.advance(3 * DAY);
        assert!(store.take("slow", &slow, 2).allowed);
    });
}

#[test]
fn a_charge_beyond_the_limit_denies_until_it_is_paid() {
    on_every_store(|store| {
        for limit in kinds() {
            store.reset(KEY, &limit);
            let charged = store.charge("k", &limit, 15);
            assert!(!charged.allowed, "{limit:?}");
            assert_eq!(charged.remaining, 0);
            // A look for nothing is refused too: in debt.
            let denied = store.take("k", &limit, 0);
            assert!(!denied.allowed, "{limit:?}");
            let wait = store.take("k", &limit, 1).retry_after.expect("a time");
            store.advance(wait.0 - 1);
            assert!(!store.take("k", &limit, 1).allowed, "{limit:?}");
            store.advance(1);
            assert!(store.take("k", &limit, 1).allowed, "{limit:?}");
        }
    });
}

/// The decisions that a key gives to looks now and later.
fn looks(store: &Subject, key: &str, limit: &Limit) -> Vec<sluice::limit::Decision> {
    [0, 1, 5, 10, 11]
        .map(|cost| store.peek(key, limit, cost))
        .into()
}

#[test]
fn giving_back_what_was_just_taken_changes_nothing() {
    on_every_store(|store| {
        let mut rng = Rng::seeded(1);
        for limit in kinds() {
            for _ in 0..10 {
                store.reset(KEY, &limit);
                store.reset(Key::unnamed(b"alone"), &limit);
                let first = rng.below(6);
                store.take("alone", &limit, first);
                store.take("k", &limit, first);
                // A sliding window's cell keeps the time of its last hit; so
                // that is the same one.
                let pause = match limit {
                    Limit::SlidingWindow(_) => 0,
                    _ => rng.below(2 * SECOND),
                };
                store.advance(pause);
                let cost = 1 + rng.below(4);
                let taken = store.answer(KEY, &limit, Ask::take(cost));
                assert!(taken.decision.allowed);
                store.refund(KEY, &limit, cost, &taken);
                assert_eq!(
                    looks(store, "k", &limit),
                    looks(store, "alone", &limit),
                    "{limit:?}"
                );
                store.advance(SECOND / 3);
                assert_eq!(
                    looks(store, "k", &limit),
                    looks(store, "alone", &limit),
                    "{limit:?}"
                );
            }
        }
    });
}

#[test]
fn what_a_sliding_window_gets_back_leaves_the_time_of_the_last_hit() {
    on_every_store(|store| {
        let limit = sliding(10, Micros(160 * SECOND));
        // The start of a cell of ten seconds.
        store.set_time(Micros(store.now().0 / (160 * SECOND) * 160 * SECOND));
        store.take("k", &limit, 3);
        store.advance(5 * SECOND);
        let taken = store.answer(KEY, &limit, Ask::take(4));
        store.refund(KEY, &limit, 4, &taken);
        let decision = store.peek("k", &limit, 8);
        assert_eq!(decision.remaining, 7);
        assert_eq!(decision.retry_after, Some(Micros(160 * SECOND)));
    });
}

#[test]
fn what_is_given_back_never_makes_more_than_full() {
    on_every_store(|store| {
        for limit in kinds() {
            store.reset(KEY, &limit);
            let taken = store.answer(KEY, &limit, Ask::take(2));
            store.refund(KEY, &limit, u64::MAX, &taken);
            store.refund(KEY, &limit, 2, &taken);
            let full = store.peek("k", &limit, 1);
            assert_eq!((full.remaining, full.limit), (10, 10), "{limit:?}");
            assert!(store.take("k", &limit, 10).allowed, "{limit:?}");
            assert!(!store.take("k", &limit, 1).allowed, "{limit:?}");
        }
    });
}

#[test]
fn what_was_taken_before_a_window_is_not_given_back_to_it() {
    on_every_store(|store| {
        for limit in [window(10, 60), quota(10, Period::Hour, "UTC")] {
            store.reset(KEY, &limit);
            let taken = store.answer(KEY, &limit, Ask::take(4));
            store.advance(3600 * SECOND);
            store.take("k", &limit, 3);
            store.refund(KEY, &limit, 4, &taken);
            assert_eq!(store.peek("k", &limit, 1).remaining, 7, "{limit:?}");
        }
        let limit = sliding(10, Micros(60 * SECOND));
        let taken = store.answer(KEY, &limit, Ask::take(4));
        store.advance(60 * SECOND);
        store.take("k", &limit, 3);
        store.refund(KEY, &limit, 4, &taken);
        assert_eq!(store.peek("k", &limit, 1).remaining, 7);
    });
}

#[test]
fn denials_and_looks_leave_every_kind_as_it_was() {
    on_every_store(|store| {
        for limit in kinds() {
            for key in [KEY, Key::unnamed(b"alone")] {
                store.reset(key, &limit);
                store.ask(key, &limit, Ask::take(4));
            }
            for _ in 0..6 {
                for cost in [7, 11, u64::MAX] {
                    let fits = store.peek("k", &limit, cost).allowed;
                    assert!(fits || !store.take("k", &limit, cost).allowed);
                    let reserve = Ask::reserve(cost, Micros(1));
                    if matches!(limit, Limit::TokenBucket(_) | Limit::LeakyBucket(_)) && cost > 10 {
                        assert!(!store.ask(KEY, &limit, reserve).allowed);
                    }
                }
                store.take("k", &limit, 0);
                store.advance(SECOND / 3);
                assert_eq!(
                    looks(store, "k", &limit),
                    looks(store, "alone", &limit),
                    "{limit:?}"
                );
            }
        }
    });
}

#[test]
fn what_remains_is_within_the_limit_whatever_is_done() {
    on_every_store(|store| {
        let mut rng = Rng::seeded(7);
        for limit in kinds() {
            for _ in 0..80 {
                let cost = rng.pick(&[0, 1, 2, 9, 10, 11, 1 << 40]);
                let mode = rng.below(4);
                let ask = match mode {
                    0 => Ask::peek(cost),
                    1 => Ask::charge(cost.min(12)),
                    _ => Ask::take(cost),
                };
                let answer = store.answer(KEY, &limit, ask);
                let decision = answer.decision;
                assert!(decision.remaining <= decision.limit, "{limit:?}");
                assert_eq!(decision.limit, 10);
                let passed = decision.retry_after == Some(Micros::ZERO);
                assert_eq!(decision.allowed, passed, "{limit:?}");
                if decision.allowed && mode == 2 {
                    store.refund(KEY, &limit, rng.below(12), &answer);
                }
                store.advance(rng.below(4 * SECOND));
            }
        }
    });
}

#[test]
fn a_state_that_has_run_out_is_as_none() {
    on_every_store(|store| {
        for limit in kinds() {
            store.reset(KEY, &limit);
            let reset = store.take("k", &limit, 10).reset_after;
            store.advance(reset.0 - 1);
            assert!(store.peek("k", &limit, 1).remaining < 10, "{limit:?}");
            store.advance(1);
            assert_eq!(
                looks(store, "k", &limit),
                looks(store, "never seen", &limit),
                "{limit:?}"
            );
            assert_eq!(
                store.take("k", &limit, 3),
                store.take("other", &limit, 3),
                "{limit:?}"
            );
            store.reset(Key::unnamed(b"other"), &limit);
        }
    });
}

#[test]
fn a_booking_that_cannot_be_counted_says_when_it_can() {
    on_every_store(|store| {
        let limit = bucket(7, 10);
        store.charge("k", &limit, u64::MAX);
        let ask = Ask::reserve(3, Micros(366 * DAY));
        let refused = store.ask(KEY, &limit, ask);
        assert!(!refused.allowed);
        let wait = refused.retry_after.map_or(0, |wait| wait.0);
        assert!(wait > 0, "{refused:?}");
        store.advance(wait - 1);
        assert!(!store.ask(KEY, &limit, ask).allowed);
        store.advance(1);
        assert!(store.ask(KEY, &limit, ask).allowed);
    });
}
