//! A denial and a look change nothing: all later decisions are those of a key
//! that was left alone.

use sluice::limit::Limit;

use crate::support::limits::{SECOND, bucket, slow_bucket, window};
use crate::support::stores::{Subject, on_every_store};

/// Limits of which 5 tokens are taken, and the time after which to look.
fn limits() -> [(Limit, u64); 4] {
    [
        (bucket(5, 1), SECOND),
        (bucket(5, 7), SECOND / 10),
        (slow_bucket(5, 1.0 / 3.0), SECOND),
        (window(5, 10), SECOND),
    ]
}

/// Spends both keys, troubles one of them, and holds it against the other.
fn compare(store: &Subject, trouble: impl Fn(&str, &Limit)) {
    for (index, (limit, pause)) in limits().into_iter().enumerate() {
        let [alone, troubled] = ["alone", "troubled"].map(|who| format!("{who} {index}"));
        store.take(&alone, &limit, 5);
        store.take(&troubled, &limit, 5);
        for _ in 0..8 {
            trouble(&troubled, &limit);
            store.advance(pause / 3);
            trouble(&troubled, &limit);
            assert_eq!(
                store.peek(&troubled, &limit, 2),
                store.peek(&alone, &limit, 2),
                "{limit:?}"
            );
            store.advance(pause - pause / 3);
        }
        assert_eq!(
            store.take(&troubled, &limit, 1),
            store.take(&alone, &limit, 1),
            "{limit:?}"
        );
    }
}

#[test]
fn looks_change_nothing() {
    on_every_store(|store| {
        compare(store, |key, limit| {
            for cost in [0, 1, 5, 6, u64::MAX] {
                store.peek(key, limit, cost);
            }
        });
    });
}

#[test]
fn denials_change_nothing() {
    on_every_store(|store| {
        compare(store, |key, limit| {
            for cost in [5, 6, u64::MAX] {
                let fits = store.peek(key, limit, cost).allowed;
                assert!(fits || !store.take(key, limit, cost).allowed);
            }
        });
    });
}

#[test]
fn taking_nothing_changes_nothing() {
    on_every_store(|store| {
        compare(store, |key, limit| {
            store.take(key, limit, 0);
            store.charge(key, limit, 0);
        });
    });
}

#[test]
fn a_look_at_an_untouched_key_leaves_nothing_behind() {
    on_every_store(|store| {
        for (limit, _) in limits() {
            for cost in [0, 1, 6] {
                store.peek("new", &limit, cost);
            }
            let first = store.take("new", &limit, 1);
            assert_eq!(first, store.take("other", &limit, 1), "{limit:?}");
            store.reset(sluice::limit::Key::unnamed(b"new"), &limit);
            store.reset(sluice::limit::Key::unnamed(b"other"), &limit);
        }
    });
}
