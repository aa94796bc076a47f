//! While Redis is away, a host finds it out once and not at every call.

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use sluice::limit::{Ask, Key, Limit, Micros};
use sluice::store::clock::Clock;
use sluice::store::redis::{Address, Dsn, Redis};
use sluice::store::shm::{Mapping, Table};
use sluice::store::tiered::Tiered;
use sluice::store::{Question, Source, Store};

use crate::support::limits::{SECOND, bucket, by_policy, question, window};
use crate::support::redis_server::{PATIENT, RedisServer};

/// One clock for all threads.
#[derive(Clone, Default)]
struct Turned(Arc<AtomicU64>);

impl Clock for Turned {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }
}

fn table() -> Arc<Table> {
    let mapping = Mapping::anonymous(1 << 16, Micros::ZERO).expect("a mapping");
    Arc::new(Table::new(mapping))
}

fn source(store: &Tiered<Turned>, limit: &Limit) -> Source {
    let asked = question(Key::unnamed(b"k"), limit, Ask::take(1));
    store.decide(&asked).expect("an answer").source
}

#[test]
fn eight_workers_try_once_in_an_interval_all_together() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("gone.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    // Takes connections and hangs up.
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (table, clock) = (table(), Turned::default());
    let dsn = Dsn::at(Address::Unix(path));
    let everybody_asks = || {
        let before = attempts.load(Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let redis = Redis::new(dsn.clone(), PATIENT);
                    let store = Tiered::on_host(redis, &table, clock.clone(), Micros(SECOND));
                    let limit = window(1_000_000, 3600);
                    for _ in 0..200 {
                        assert_eq!(source(&store, &limit), Source::Fallback);
                    }
                });
            }
        });
        attempts.load(Ordering::SeqCst) - before
    };
    // Until it is known, each worker can be in a call of its own.
    let first = everybody_asks();
    assert!((5..=5 + 7).contains(&first), "{first} attempts");
    assert_eq!(everybody_asks(), 0);
    for interval in [1, 2, 4, 4] {
        clock.0.fetch_add(interval * SECOND - 1, Ordering::SeqCst);
        assert_eq!(everybody_asks(), 0);
        clock.0.fetch_add(1, Ordering::SeqCst);
        assert_eq!(everybody_asks(), 1);
    }
}

#[test]
fn it_closes_for_all_when_redis_is_back() {
    let mut server = RedisServer::start();
    let (table, clock) = (table(), Turned::default());
    let workers = [(); 2].map(|()| {
        let redis = Redis::new(server.dsn(), PATIENT);
        Tiered::on_host(redis, &table, clock.clone(), Micros(SECOND))
    });
    let limit = bucket(100, 1);
    assert_eq!(source(&workers[0], &limit), Source::Redis);
    server.stop();
    for _ in 0..5 {
        assert_eq!(source(&workers[0], &limit), Source::Fallback);
    }
    let breaker = |worker: &Tiered<Turned>| worker.status().tiers.expect("a host").breaker;
    assert!(breaker(&workers[1]).open);
    assert_eq!(breaker(&workers[1]).probe_in, Some(Micros(SECOND)));
    server.restart_empty();
    assert_eq!(
        source(&workers[1], &limit),
        Source::Fallback,
        "nobody probes yet"
    );
    clock.0.fetch_add(SECOND, Ordering::SeqCst);
    assert_eq!(source(&workers[1], &limit), Source::Redis);
    assert_eq!(source(&workers[0], &limit), Source::Redis);
    assert_eq!(breaker(&workers[0]).faults, 0);
    assert_eq!(breaker(&workers[0]).opened, 1);
}

#[test]
fn other_databases_users_and_passwords_have_breakers_of_their_own() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "app", "on", ">right", "~*", "+@all"]);
    let (table, clock) = (table(), Turned::default());
    let store = |options: &str| {
        let redis = Redis::new(server.dsn_with(options), PATIENT);
        Tiered::on_host(redis, &table, clock.clone(), Micros(SECOND))
    };
    let limit = bucket(100, 1);
    // A database and a user that do not exist.
    for broken in [
        "?db=99",
        "?user=nobody&password=x",
        "?user=app&password=wrong",
    ] {
        let broken = store(broken);
        for _ in 0..6 {
            assert_eq!(source(&broken, &limit), Source::Fallback);
        }
        assert!(broken.status().tiers.expect("a host").breaker.open);
        assert_eq!(source(&store(""), &limit), Source::Redis);
        assert_eq!(source(&store("?db=1"), &limit), Source::Redis);
        assert_eq!(
            source(&store("?user=app&password=right"), &limit),
            Source::Redis
        );
    }
}

#[test]
fn a_key_that_holds_something_else_is_no_fault_of_the_server() {
    let server = RedisServer::start();
    let redis = Redis::new(server.dsn(), PATIENT);
    let store = Tiered::on_host(redis, &table(), Turned::default(), Micros(SECOND));
    let limit = window(100, 3600);
    source(&store, &limit);
    let key = server.command(&["KEYS", "*"]);
    server.command(&["DEL", &key]);
    server.command(&["LPUSH", &key, "something else"]);
    for _ in 0..20 {
        assert_eq!(source(&store, &limit), Source::Fallback);
    }
    let other = question(Key::unnamed(b"other"), &limit, Ask::take(1));
    assert_eq!(
        store.decide(&other).expect("an answer").source,
        Source::Redis
    );
}

#[test]
fn server_troubles_open_it() {
    let server = RedisServer::start();
    let troubles: [(&[&str], &[&str]); 2] = [
        (
            &["CONFIG", "SET", "maxmemory", "1"],
            &["CONFIG", "SET", "maxmemory", "0"],
        ),
        (
            &["REPLICAOF", "127.0.0.1", "1"],
            &["REPLICAOF", "NO", "ONE"],
        ),
    ];
    for (strike, heal) in troubles {
        let redis = Redis::new(server.dsn(), PATIENT);
        let store = Tiered::on_host(redis, &table(), Turned::default(), Micros(SECOND));
        server.command(strike);
        for _ in 0..10 {
            assert_eq!(source(&store, &window(100, 3600)), Source::Fallback);
        }
        let status = store.status();
        assert_eq!(status.redis.expect("a Redis").calls, 5);
        assert!(status.tiers.expect("a host").breaker.open);
        server.command(heal);
    }
}

#[test]
fn without_shared_memory_each_worker_has_its_own() {
    let dsn = Dsn::at(Address::Unix("/nowhere/redis.sock".into()));
    let store = Tiered::new(Redis::new(dsn, PATIENT), None);
    let limit = window(100, 3600);
    for _ in 0..20 {
        let asked = question(Key::unnamed(b"k"), &limit, Ask::take(1));
        let answer = store.decide(&asked).expect("an answer");
        assert_eq!(answer.source, Source::FailedOpen);
    }
    let status = store.status();
    assert_eq!(status.redis.expect("a Redis").calls, 5);
}

#[test]
fn every_policy_answers_while_it_is_open() {
    let dsn = Dsn::at(Address::Unix("/nowhere/redis.sock".into()));
    let store = Tiered::on_host(
        Redis::new(dsn, PATIENT),
        &table(),
        Turned::default(),
        Micros(SECOND),
    );
    let limit = window(100, 3600);
    let ask = |on_failure| {
        let asked = Question {
            on_failure,
            ..question(Key::unnamed(b"k"), &limit, Ask::take(1))
        };
        store.decide(&asked)
    };
    for _ in 0..6 {
        assert_eq!(
            ask(&by_policy::ALLOW).expect("an answer").source,
            Source::FailedOpen
        );
    }
    assert_eq!(
        ask(&by_policy::DENY).expect("an answer").source,
        Source::FailedClosed
    );
    assert_eq!(
        ask(&by_policy::LOCAL).expect("an answer").source,
        Source::Fallback
    );
    let fault = ask(&by_policy::THROW).expect_err("it throws");
    assert!(fault.message.contains("/nowhere/redis.sock"), "{fault}");
    assert!(fault.message.contains("not asked"), "{fault}");
    assert!(store.reset(Key::unnamed(b"k"), &limit).is_err());
    // What needs nobody is answered as ever, and is no sign of life.
    let nothing = question(Key::unnamed(b"k"), &Limit::Deny, Ask::take(1));
    assert!(!store.decide(&nothing).expect("an answer").decision.allowed);
    assert!(store.status().tiers.expect("a host").breaker.open);
}
