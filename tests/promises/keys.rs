//! Any bytes are a key, and different keys, names and windows share nothing.

use sluice::limit::{Ask, Key, Limit};

use crate::support::limits::{bucket, window};
use crate::support::stores::{Subject, on_every_store};

/// Takes the one token of each, which must all be there, and finds each gone.
fn share_nothing(store: &Subject, keys: &[Key<'_>], limits: &[Limit]) {
    let all = || {
        keys.iter()
            .flat_map(|key| limits.iter().map(move |limit| (*key, limit)))
    };
    for (key, limit) in all() {
        let decision = store.ask(key, limit, Ask::take(1));
        assert!(decision.allowed, "{} shares its state", shown(key));
    }
    for (key, limit) in all() {
        let decision = store.ask(key, limit, Ask::take(1));
        assert!(!decision.allowed, "{} lost its state", shown(key));
    }
}

fn shown(key: Key<'_>) -> String {
    let start = &key.bytes[..key.bytes.len().min(40)];
    format!(
        "{:?}/{:?} of {} bytes",
        key.name.escape_ascii().to_string(),
        start.escape_ascii().to_string(),
        key.bytes.len()
    )
}

#[test]
fn any_bytes_are_a_key_of_their_own() {
    let long = vec![b'x'; 64 << 10];
    let mut other_end = long.clone();
    other_end[(64 << 10) - 1] = b'y';
    let mut other_start = long.clone();
    other_start[0] = b'y';
    let keys: Vec<&[u8]> = vec![
        b"",
        b"\0",
        b"\0\0",
        b"a\0",
        b"a\0b",
        b"a",
        b"\xff\xfe\x80",
        b"\xff\xfe",
        "schlüssel".as_bytes(),
        b"{",
        b"}",
        b"{}",
        b"{a}",
        b"{a}b",
        b"{b}a",
        b"a:b",
        b":=a",
        b" ",
        b"\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"%s%n",
        b"192.0.2.1",
        b"2001:db8::1",
        &long[..199],
        &long[..200],
        &long[..201],
        &long[..202],
        &long,
        &other_end,
        &other_start,
    ];
    let keys: Vec<_> = keys.into_iter().map(Key::unnamed).collect();
    on_every_store(|store| {
        share_nothing(store, &keys, &[bucket(1, 1), window(1, 60)]);
    });
}

#[test]
fn the_border_of_name_and_key_matters() {
    let pairs: [(&[u8], &[u8]); 10] = [
        (b"", b"abc"),
        (b"a", b"bc"),
        (b"ab", b"c"),
        (b"abc", b""),
        (b"", b"a:=bc"),
        (b"a:=b", b"c"),
        (b"a", b"b:=c"),
        (b"a\0", b"c"),
        (b"a", b"\0c"),
        (b"1:a", b"bc"),
    ];
    let keys = pairs.map(|(name, bytes)| Key { name, bytes });
    on_every_store(|store| {
        share_nothing(store, &keys, &[bucket(1, 1), window(1, 60)]);
    });
}

#[test]
fn limits_of_another_kind_or_window_share_nothing() {
    let key = Key {
        name: b"login",
        bytes: b"alice",
    };
    on_every_store(|store| {
        let limits = [bucket(1, 1), window(1, 60), window(1, 61), window(1, 3600)];
        share_nothing(store, &[key], &limits);
    });
}

#[test]
fn a_reset_forgets_that_key_under_that_limit_only() {
    let [one, two] = [b"one", b"two"].map(|bytes| Key::unnamed(bytes));
    on_every_store(|store| {
        for (limit, other) in [
            (bucket(1, 1), window(1, 60)),
            (window(1, 60), window(1, 61)),
        ] {
            for key in [one, two] {
                store.ask(key, &limit, Ask::take(1));
                store.ask(key, &other, Ask::take(1));
            }
            store.reset(one, &limit);
            store.reset(Key::unnamed(b"never seen"), &limit);
            let left = |key, limit| store.ask(key, limit, Ask::peek(1)).remaining;
            assert_eq!(left(one, &limit), 1);
            assert_eq!(left(two, &limit), 0);
            assert_eq!(left(one, &other), 0);
            for key in [one, two] {
                store.reset(key, &limit);
                store.reset(key, &other);
            }
        }
    });
}
