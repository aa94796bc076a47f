//! A clock that steps back blocks nobody for as long as it stepped.

use sluice::limit::Micros;

use crate::support::limits::{SECOND, bucket, window};
use crate::support::stores::on_every_store;

const STEP: u64 = 3600 * SECOND;

#[test]
fn a_drained_bucket_refills_at_its_rate_after_a_step_back() {
    on_every_store(|store| {
        let limit = bucket(10, 2);
        store.take("k", &limit, 10);
        store.step_back(STEP);
        let denied = store.take("k", &limit, 1);
        assert_eq!(denied.retry_after, Some(Micros(SECOND / 2)));
        store.advance(SECOND / 2);
        assert!(store.take("k", &limit, 1).allowed);
        store.advance(5 * SECOND);
        assert_eq!(store.peek("k", &limit, 1).remaining, 10);
    });
}

#[test]
fn a_step_back_gives_no_tokens_either() {
    on_every_store(|store| {
        let limit = bucket(10, 2);
        store.take("k", &limit, 10);
        for _ in 0..20 {
            store.step_back(STEP / 20);
            assert_eq!(store.take("k", &limit, 1).remaining, 0);
        }
    });
}

#[test]
fn a_window_lasts_at_most_its_length_after_a_step_back() {
    on_every_store(|store| {
        let limit = window(10, 60);
        store.take("k", &limit, 10);
        store.step_back(STEP);
        let denied = store.take("k", &limit, 1);
        assert_eq!(denied.retry_after, Some(Micros(60 * SECOND)));
        store.advance(60 * SECOND);
        assert!(store.take("k", &limit, 1).allowed);
    });
}

#[test]
fn a_request_admitted_after_a_step_back_counts_from_then_on() {
    on_every_store(|store| {
        let limit = bucket(10, 1);
        store.take("k", &limit, 5);
        store.step_back(STEP);
        assert_eq!(store.take("k", &limit, 1).remaining, 4);
        store.advance(3 * SECOND);
        assert_eq!(store.peek("k", &limit, 1).remaining, 7);
    });
}
