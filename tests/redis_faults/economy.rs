//! What calls cost the server: one connection and one load of each script for
//! thousands of decisions, and never a charge more than once.

use sluice::limit::{Ask, Key};
use sluice::store::Store;
use sluice::store::redis::Redis;

use crate::support::fake_server::FakeServer;
use crate::support::limits::{bucket, question, window};
use crate::support::redis_server::{PATIENT, RedisServer};
use crate::troubles::{BUDGET, Guarded, guarded};

#[test]
fn thousands_of_decisions_take_one_connection_and_one_load_of_each_script() {
    let server = RedisServer::start();
    let before = server.stat("total_connections_received");
    let store = Redis::new(server.dsn(), PATIENT);
    let limits = [bucket(100, 10), window(100, 60)];
    for number in 0..5000_u32 {
        let key = (number % 100).to_be_bytes();
        let limit = &limits[number as usize / 100 % 2];
        let answer = store.decide(&question(Key::unnamed(&key), limit, Ask::take(1)));
        assert!(answer.is_ok(), "{answer:?}");
    }
    // One of them is the question itself.
    let connections = server.stat("total_connections_received") - before - 1;
    assert_eq!(connections, 1);
    // One for each kind of limit, whether it was asked yet or not.
    assert_eq!(server.calls_of("script|load").all, 6);
    assert_eq!(server.calls_of("evalsha").all, 5000);
    assert_eq!(server.calls_of("eval").all, 0);
    let status = store.status().redis.expect("a connection");
    assert_eq!(
        (status.connections, status.calls, status.faults),
        (1, 5000, 0)
    );
}

#[test]
fn nothing_is_connected_before_the_first_call() {
    let server = RedisServer::start();
    let before = server.stat("total_connections_received");
    let store = Redis::new(server.dsn(), PATIENT);
    let nothing = window(0, 60);
    let answer = store.decide(&question(Key::unnamed(b"k"), &nothing, Ask::take(1)));
    assert!(answer.is_ok_and(|answer| !answer.decision.allowed));
    let after = server.stat("total_connections_received");
    assert_eq!(after - before, 1, "only the one that asks for the count");
}

#[test]
fn a_charge_that_got_no_answer_is_not_sent_again() {
    let bad: [&[u8]; 6] = [
        b"",
        b"*7\r\n:1\r\n",
        b"what?\r\n",
        b"-ERR something went wrong\r\n",
        b"-BUSY Redis is busy running a script.\r\n",
        b"*7\r\n:0\r\n:1\r\n:1\r\n:9\r\n:0\r\n:1\r\n:0\r\n",
    ];
    for bytes in bad {
        for hangs_up in [false, true] {
            let server = FakeServer::start(move |_, peer| {
                if peer.next_question().is_some() {
                    peer.send(bytes);
                    if !hangs_up {
                        peer.be_silent();
                    }
                }
            });
            let store = Redis::new(server.dsn(), BUDGET);
            let limit = window(100, 3600);
            for sent in 1..=2 {
                let answer = store.decide(&question(Key::unnamed(b"k"), &limit, Ask::charge(1)));
                assert!(answer.is_err(), "{answer:?}");
                assert_eq!(server.questions(), sent, "after {}", bytes.escape_ascii());
            }
        }
    }
}

#[test]
fn a_charge_counts_once_where_the_script_was_forgotten() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    let limit = window(100, 3600);
    for round in 1..=10 {
        let answer = store.decide(&question(Key::unnamed(b"k"), &limit, Ask::charge(1)));
        assert_eq!(answer.expect("an answer").decision.remaining, 100 - round);
        server.command(&["SCRIPT", "FLUSH"]);
    }
    let calls = server.calls_of("evalsha");
    assert_eq!(calls.all - calls.failed, 10, "calls that ran");
    let status = store.status().redis.expect("a connection");
    assert_eq!((status.connections, status.faults), (1, 0));
}

#[test]
fn a_server_that_always_forgets_the_script_is_not_asked_for_ever() {
    let server = FakeServer::start(|_, peer| {
        while peer.next_question().is_some() {
            peer.send(b"-NOSCRIPT No matching script. Please use EVAL.\r\n");
        }
    });
    let store = Redis::new(server.dsn(), BUDGET);
    let limit = window(100, 3600);
    let answer = store.decide(&question(Key::unnamed(b"k"), &limit, Ask::charge(1)));
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(server.questions(), 2);
}

#[test]
fn dsns_that_differ_in_the_database_only_share_nothing() {
    let server = RedisServer::start();
    let before = server.stat("total_connections_received");
    let stores = [0, 1].map(|number| guarded(&server.dsn_with(&format!("?db={number}"))));
    let limit = window(100, 3600);
    let take = |store: &Guarded| {
        let answer = store.decide(&question(Key::unnamed(b"k"), &limit, Ask::take(1)));
        answer.expect("an answer").decision.remaining
    };
    for round in 1..=5 {
        for store in &stores {
            assert_eq!(take(store), 100 - round);
        }
    }
    // One of them is the question itself.
    assert_eq!(server.stat("total_connections_received") - before - 1, 2);
    // What happens to one is nothing to the other.
    server.command(&["ACL", "SETUSER", "default", "-select"]);
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    let status = |store: &Guarded| store.status().redis.expect("a connection");
    for store in &stores {
        take(store);
        take(store);
    }
    assert!(status(&stores[0]).connected && !status(&stores[1]).connected);
    assert_eq!(status(&stores[0]).faults, 1);
    assert_eq!(status(&stores[1]).faults, 2);
}
