//! The smallest limits, the longest waits, and figures that stay in range.

use sluice::limit::Micros;

use crate::support::limits::{DAY, SECOND, bucket, slow_bucket, window};
use crate::support::stores::on_every_store;

#[test]
fn a_limit_of_one_admits_one() {
    on_every_store(|store| {
        for limit in [bucket(1, 1), window(1, 1)] {
            let first = store.take("k", &limit, 1);
            assert!(first.allowed, "{limit:?}");
            assert_eq!((first.limit, first.remaining), (1, 0));
            let second = store.take("k", &limit, 1);
            assert!(!second.allowed, "{limit:?}");
            assert_eq!(second.retry_after, Some(Micros(SECOND)));
        }
    });
}

#[test]
fn a_limit_of_nothing_admits_nothing() {
    on_every_store(|store| {
        for limit in [bucket(0, 1), bucket(10, 0), bucket(0, 0), window(0, 60)] {
            for decision in [
                store.take("k", &limit, 1),
                store.peek("k", &limit, 1),
                store.charge("k", &limit, 1),
            ] {
                assert!(!decision.allowed, "{limit:?}");
                assert_eq!((decision.limit, decision.remaining), (0, 0));
                assert_eq!(decision.retry_after, None);
                assert_eq!(decision.reset_after, Micros::ZERO);
            }
            // Nothing is there, for whoever asks for nothing.
            assert!(store.take("k", &limit, 0).allowed);
        }
    });
}

#[test]
fn a_bucket_left_alone_for_a_year_is_full_and_no_fuller() {
    on_every_store(|store| {
        for limit in [bucket(10, 1_000_000), bucket(10, 1), slow_bucket(10, 1e-5)] {
            let key = format!("{limit:?}");
            store.take(&key, &limit, 10);
            store.advance(365 * DAY);
            let decision = store.peek(&key, &limit, 1);
            assert_eq!((decision.remaining, decision.reset_after), (10, Micros(0)));
            let admitted = (0..30)
                .filter(|_| store.take(&key, &limit, 1).allowed)
                .count();
            assert_eq!(admitted, 10, "{limit:?}");
        }
    });
}

#[test]
fn more_than_the_limit_never_passes() {
    on_every_store(|store| {
        for limit in [bucket(5, 1), window(5, 60)] {
            for cost in [6, 1 << 30, 1 << 53, u64::MAX] {
                let decision = store.take("k", &limit, cost);
                assert!(!decision.allowed);
                assert_eq!(decision.retry_after, None);
                assert_eq!(decision.remaining, 5, "and nothing was taken");
            }
        }
    });
}

#[test]
fn what_remains_is_never_below_nothing_nor_above_the_limit() {
    on_every_store(|store| {
        let (large, small) = (bucket(100, 1), bucket(3, 1));
        assert_eq!(store.charge("b", &large, 1000).remaining, 0);
        assert_eq!(store.peek("b", &small, 1).remaining, 0);
        assert_eq!(store.charge("b", &small, u64::MAX).remaining, 0);
        let (large, small) = (window(100, 60), window(3, 60));
        assert_eq!(store.charge("w", &large, 50).remaining, 50);
        assert_eq!(store.peek("w", &small, 1).remaining, 0);
        assert_eq!(store.charge("w", &large, u64::MAX).remaining, 0);

        let limit = bucket(10, 1);
        store.take("back", &limit, 1);
        store.step_back(3600 * SECOND);
        assert_eq!(store.peek("back", &limit, 1).remaining, 9);
        store.advance(2 * 3600 * SECOND);
        assert_eq!(store.peek("back", &limit, 1).remaining, 10);
    });
}

#[test]
fn a_debt_is_paid_back_before_anything_passes() {
    on_every_store(|store| {
        let limit = bucket(10, 1);
        let charged = store.charge("k", &limit, 25);
        assert!(!charged.allowed, "the tokens were not there");
        assert_eq!(charged.reset_after, Micros(25 * SECOND));
        assert!(!store.take("k", &limit, 0).allowed, "in debt");
        let denied = store.take("k", &limit, 1);
        assert_eq!(denied.retry_after, Some(Micros(16 * SECOND)));
        store.advance(16 * SECOND);
        assert!(store.take("k", &limit, 1).allowed);
    });
}
