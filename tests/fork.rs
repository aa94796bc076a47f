//! A child that was forked off a worker opens a connection of its own; that of
//! the parent goes on as if nothing had been.

mod support;

use sluice::limit::{Ask, Key};
use sluice::store::Store;
use sluice::store::fork::after_fork;
use sluice::store::redis::Redis;

use support::limits::{question, window};
use support::redis_server::{PATIENT, RedisServer};

#[test]
fn a_child_does_not_use_the_connection_of_its_parent() {
    let server = RedisServer::start();
    let limit = window(100, 3600);
    let store = Redis::new(server.dsn(), PATIENT);
    let left = || {
        let answer = store.decide(&question(Key::unnamed(b"k"), &limit, Ask::take(1)));
        answer.expect("an answer").decision.remaining
    };
    assert_eq!(left(), 99);
    after_fork();
    assert_eq!(left(), 98);
    assert_eq!(left(), 97);
    let status = store.status().redis.expect("a connection");
    assert_eq!((status.connections, status.faults), (2, 0));
}
