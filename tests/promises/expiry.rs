//! Whatever is written to Redis goes away by itself: every key has a TTL, none
//! shorter than its state matters and none much longer.

use sluice::limit::{Ask, Decision, Key, Limit};
use sluice::store::Store;
use sluice::store::redis::Redis;

use crate::support::limits::{bucket, question, slow_bucket, window};
use crate::support::redis_server::{PATIENT, RedisServer};

fn limits() -> [Limit; 6] {
    [
        bucket(10, 1_000_000),
        bucket(10, 3),
        slow_bucket(10, 1.0 / 60.0),
        slow_bucket(5, 1.0 / 31_622_400.0),
        window(10, 1),
        window(10, 366 * 86_400),
    ]
}

/// Asks and holds the TTLs that are there then against the answer.
fn ask_and_look(server: &RedisServer, store: &Redis, limit: &Limit, ask: Ask) -> Decision {
    let decision = store
        .decide(&question(Key::unnamed(b"k"), limit, ask))
        .expect("an answer")
        .decision;
    let keys = server.command(&["KEYS", "*"]);
    for key in keys.lines() {
        let ttl: i64 = server
            .command(&["PTTL", key])
            .parse()
            .expect("a number of milliseconds");
        let needed = (decision.reset_after.0 / 1000) as i64;
        assert!(ttl > 0, "{key} has no TTL");
        // The margin of the scripts, a second, is for the time since.
        assert!(ttl >= needed, "{key} goes {} ms early", needed - ttl);
        assert!(
            ttl <= needed + 2000,
            "{key} stays {} ms too long",
            ttl - needed
        );
    }
    decision
}

#[test]
fn every_key_has_a_ttl_that_covers_its_state() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    for limit in limits() {
        for ask in [
            Ask::take(1),
            Ask::take(3),
            Ask::charge(30),
            Ask::take(1),
            Ask::charge(u64::MAX),
        ] {
            ask_and_look(&server, &store, &limit, ask);
            assert_eq!(server.command(&["DBSIZE"]), "1");
        }
        assert!(store.reset(Key::unnamed(b"k"), &limit).is_ok());
    }
}

#[test]
fn what_takes_nothing_writes_nothing() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    for limit in limits() {
        for ask in [
            Ask::peek(1),
            Ask::peek(11),
            Ask::take(0),
            Ask::take(11),
            Ask::charge(0),
        ] {
            ask_and_look(&server, &store, &limit, ask);
            assert_eq!(server.command(&["DBSIZE"]), "0", "{ask:?} of {limit:?}");
        }
    }
}
