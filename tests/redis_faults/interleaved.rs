//! Ten thousand keys asked in turn, a hundred thousand calls in all, while
//! replies are late, lost, cut, doubled and out of order: every answer is the one of its key, and no charge is sent
//! a second time.

use std::time::Duration;

use sluice::limit::{Ask, Key};
use sluice::store::Store;
use sluice::store::redis::{Budget, Redis};

use crate::proxy::Proxy;
use crate::support::limits::{question, window};
use crate::support::redis_server::{PATIENT, RedisServer};

const KEYS: u32 = 10_000;
const ROUNDS: u32 = 10;
/// Limits differ by more than is ever taken, so that what remains of one is
/// never what remains of another.
const APART: u32 = 100;
const TIMEOUT: Duration = Duration::from_millis(10);

fn limit_of(key: u32) -> u32 {
    (key + 1) * APART
}

/// Charges one to a key and says what remains, if that is told.
fn charge(store: &Redis, key: u32) -> Option<u32> {
    let limit = window(i64::from(limit_of(key)), 86_400);
    let bytes = key.to_be_bytes();
    let answer = store.decide(&question(Key::unnamed(&bytes), &limit, Ask::charge(1)));
    answer.ok().map(|answer| answer.decision.remaining)
}

#[test]
fn no_key_gets_the_answer_of_another() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.socket(), TIMEOUT);
    let budget = Budget {
        timeout: TIMEOUT,
        connect: Some(TIMEOUT),
    };
    let store = Redis::new(proxy.dsn(), budget);
    let mut answered = vec![0; KEYS as usize];
    for round in 1..=ROUNDS {
        for step in 0..KEYS {
            // A stride that meets every key once.
            let key = step * 7919 % KEYS;
            if let Some(remaining) = charge(&store, key) {
                let taken = limit_of(key) - remaining;
                assert!((1..=round).contains(&taken), "key {key}: {remaining} left");
                answered[key as usize] += 1;
            }
        }
    }
    let all: u32 = answered.iter().sum();
    assert!(
        proxy.spoiled() > 5000,
        "only {} were spoiled",
        proxy.spoiled()
    );
    assert!(all > KEYS * ROUNDS * 3 / 4, "only {all} were answered");

    // On the server each call counted once, or not at all.
    let honest = Redis::new(server.dsn(), PATIENT);
    for key in 0..KEYS {
        let taken = limit_of(key) - charge(&honest, key).expect("an answer") - 1;
        assert!((answered[key as usize]..=ROUNDS).contains(&taken));
    }
    let calls = server.calls_of("evalsha");
    assert!(calls.all <= u64::from(KEYS * (ROUNDS + 1)), "{calls:?}");

    proxy.behave();
    // Within a budget this small a busy machine may need more than one try.
    assert!((0..50).any(|_| charge(&store, 0).is_some()));
}
