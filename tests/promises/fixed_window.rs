//! A window starts with the first admitted request and ends on its own, however
//! much is asked in it.

use sluice::limit::Micros;

use crate::support::limits::{SECOND, window};
use crate::support::stores::on_every_store;

#[test]
fn a_window_starts_with_the_first_admitted_request() {
    on_every_store(|store| {
        let limit = window(3, 60);
        store.peek("k", &limit, 1);
        store.take("k", &limit, 4);
        store.take("k", &limit, 0);
        store.advance(50 * SECOND);
        let first = store.take("k", &limit, 1);
        assert!(first.allowed);
        assert_eq!(first.remaining, 2);
        assert_eq!(first.reset_after, Micros(60 * SECOND));
    });
}

#[test]
fn a_window_ends_on_its_own() {
    on_every_store(|store| {
        let limit = window(2, 60);
        store.take("k", &limit, 2);
        for second in 0..60 {
            let left = Micros((60 - second) * SECOND);
            assert_eq!(store.take("k", &limit, 1).retry_after, Some(left));
            store.advance(SECOND);
        }
        let next = store.take("k", &limit, 1);
        assert!(next.allowed);
        assert_eq!(next.remaining, 1);
        assert_eq!(next.reset_after, Micros(60 * SECOND));
    });
}

#[test]
fn the_last_microsecond_belongs_to_the_window() {
    on_every_store(|store| {
        let limit = window(1, 60);
        store.take("k", &limit, 1);
        store.advance(60 * SECOND - 1);
        assert_eq!(store.take("k", &limit, 1).retry_after, Some(Micros(1)));
        store.advance(1);
        assert!(store.take("k", &limit, 1).allowed);
    });
}
