//! Numbers of a limit may change between two calls. What was taken stays taken;
//! the new numbers decide how much that leaves and how fast it comes back.

use sluice::limit::Micros;

use crate::support::limits::{SECOND, bucket, slow_bucket, window};
use crate::support::stores::on_every_store;

#[test]
fn a_lower_rate_does_not_refill_a_drained_bucket() {
    on_every_store(|store| {
        store.take("k", &bucket(100, 20), 100);
        let lowered = store.take("k", &bucket(100, 10), 1);
        assert!(!lowered.allowed);
        assert_eq!(lowered.remaining, 0);
        assert_eq!(lowered.retry_after, Some(Micros(100_000)));
    });
}

#[test]
fn a_higher_rate_does_not_make_anyone_wait_by_the_old_one() {
    on_every_store(|store| {
        store.take("k", &bucket(100, 20), 100);
        let raised = store.take("k", &bucket(100, 40), 1);
        assert!(!raised.allowed);
        assert_eq!(raised.retry_after, Some(Micros(25_000)));
        store.advance(25_000);
        assert!(store.take("k", &bucket(100, 40), 1).allowed);
    });
}

#[test]
fn a_changed_capacity_keeps_what_was_taken() {
    on_every_store(|store| {
        store.take("k", &bucket(100, 1), 60);
        assert_eq!(store.peek("k", &bucket(200, 1), 1).remaining, 140);
        assert_eq!(store.peek("k", &bucket(70, 1), 1).remaining, 10);
        assert_eq!(store.peek("k", &bucket(50, 1), 1).remaining, 0);
    });
}

#[test]
fn a_changed_limit_keeps_the_window() {
    on_every_store(|store| {
        store.take("k", &window(10, 60), 10);
        store.advance(20 * SECOND);
        let raised = store.take("k", &window(15, 60), 1);
        assert!(raised.allowed);
        assert_eq!(raised.remaining, 4);
        assert_eq!(raised.reset_after, Micros(40 * SECOND));
        let lowered = store.take("k", &window(5, 60), 1);
        assert_eq!(lowered.retry_after, Some(Micros(40 * SECOND)));
    });
}

#[test]
fn a_lower_rate_does_not_bring_a_full_bucket_back_later() {
    on_every_store(|store| {
        let limit = slow_bucket(100, 1.0 / 60.0);
        store.take("k", &bucket(100, 20), 100);
        // As long as the old rate would have taken to fill it, and longer, but
        // not long enough for one token of the new rate.
        for _ in 0..30 {
            store.advance(SECOND);
            let decision = store.take("k", &limit, 1);
            assert!(!decision.allowed, "after {decision:?}");
        }
    });
}

#[test]
fn a_rate_that_was_high_for_a_moment_forgets_nothing() {
    on_every_store(|store| {
        let (low, high) = (slow_bucket(100, 1.0 / 3600.0), bucket(1000, 1000));
        store.take("k", &low, 100);
        assert!(store.take("k", &high, 1).allowed);
        store.advance(5 * SECOND);
        // By the high rate it was full long ago; by the low one hardly a token
        // is back.
        assert!(!store.take("k", &low, 50).allowed);
    });
}
