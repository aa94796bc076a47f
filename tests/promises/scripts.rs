//! Every script runs on a real server, alone and composed with up to seven
//! others, and leaves no key without a TTL.

use sluice::limit::{Ask, Key, Limit, Micros, Period};
use sluice::store::redis::Redis;
use sluice::store::{Question, Store};

use crate::support::limits::{SECOND, bucket, permits, question, queue, quota, sliding, window};
use crate::support::redis_server::{PATIENT, RedisServer};
use crate::support::rng::Rng;

fn kinds() -> [Limit; 6] {
    [
        bucket(4, 1),
        queue(4, 1),
        window(4, 60),
        sliding(4, Micros(60 * SECOND)),
        quota(4, Period::Month, "America/New_York"),
        permits(4, 30),
    ]
}

fn assert_ttls(server: &RedisServer, at_least: usize, place: &str) {
    let names = server.command(&["KEYS", "*"]);
    let count = names.lines().count();
    assert!(count >= at_least, "{count} keys: {place}");
    for name in names.lines() {
        let ttl: i64 = server
            .command(&["PTTL", name])
            .parse()
            .expect("a number of milliseconds");
        assert!(ttl > 0, "{name} has no TTL: {place}");
    }
}

#[test]
fn every_kind_and_mode_leaves_a_ttl() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    let key = Key::unnamed(b"k");
    for limit in kinds() {
        server.command(&["FLUSHALL"]);
        let place = format!("{limit:?}");
        let decide = |ask| {
            store
                .decide(&question(key, &limit, ask))
                .expect("an answer")
        };
        let taken = decide(Ask::take(1));
        assert_ttls(&server, 1, &place);
        if let Some(held) = taken.held() {
            let question = question(key, &limit, Ask::take(1));
            assert_eq!(store.renew(&question, held), Ok(true));
            assert_ttls(&server, 1, &place);
            decide(Ask::take(1));
            assert_eq!(store.release(&question, held), Ok(true));
            assert_ttls(&server, 1, &place);
            continue;
        }
        let steps = [Ask::charge(9), Ask::take(1), Ask::peek(1), Ask::take(0)];
        for ask in steps {
            decide(ask);
            assert_ttls(&server, 1, &place);
        }
        if matches!(limit, Limit::TokenBucket(_) | Limit::LeakyBucket(_)) {
            decide(Ask::reserve(1, Micros(100 * SECOND)));
            assert_ttls(&server, 1, &place);
        }
        for cost in [1, 100] {
            let back = store.refund(&question(key, &limit, Ask::take(cost)), &taken);
            assert_eq!(back, Ok(()), "{place}");
            assert_ttls(&server, 1, &place);
        }
    }
}

/// Asks until all of it is refused, each part under a key of its own.
fn ask_all(server: &RedisServer, store: &Redis, limits: &[&Limit]) {
    server.command(&["FLUSHALL"]);
    let names: Vec<_> = (0..limits.len()).map(|n| n.to_string()).collect();
    let asked: Vec<Question<'_>> = limits
        .iter()
        .zip(&names)
        .map(|(limit, name)| {
            let key = Key {
                name: name.as_bytes(),
                bytes: b"one slot",
            };
            question(key, limit, Ask::take(1))
        })
        .collect();
    for round in 0..5 {
        let answers = match store.decide_all(&asked) {
            Ok(answers) => answers,
            Err(fault) => panic!("{limits:?}: {fault}"),
        };
        for answer in answers {
            assert_eq!(answer.decision.allowed, round < 4, "{limits:?}");
            assert_eq!(answer.decision.remaining, 3_u32.saturating_sub(round));
        }
        assert_ttls(server, limits.len(), "together");
    }
}

#[test]
fn every_pair_of_kinds_runs_and_leaves_ttls() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    let kinds = kinds();
    for first in &kinds {
        for second in &kinds {
            ask_all(&server, &store, &[first, second]);
        }
    }
}

#[test]
fn up_to_eight_kinds_run_together_and_leave_ttls() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    let kinds = kinds();
    let mut rng = Rng::seeded(1);
    for size in 3..=8 {
        for _ in 0..8 {
            let parts: Vec<_> = (0..size)
                .map(|_| &kinds[rng.below(kinds.len() as u64) as usize])
                .collect();
            ask_all(&server, &store, &parts);
        }
    }
}
