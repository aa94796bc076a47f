//! A reply that belongs to another call answers nobody: not when it comes with
//! the right one, not when it comes later, not when it says it is the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use sluice::limit::{Ask, Decision, Key};
use sluice::store::Store;
use sluice::store::redis::Redis;

use crate::support::fake_server::{Asked, FakeServer, Peer, reply_to};
use crate::support::limits::{question, window};
use crate::troubles::{BUDGET, Trouble, every_policy_answers, in_time};

/// Asks under a limit of its own. An answer has to be that of this limit.
fn ask(store: &Redis, limit: u32) -> Option<Decision> {
    let window = window(i64::from(limit), 3600);
    let key = limit.to_be_bytes();
    let answer = in_time(|| store.decide(&question(Key::unnamed(&key), &window, Ask::take(1))));
    let decision = answer.ok()?.decision;
    assert_eq!(decision.remaining, limit - 1, "the answer of another key");
    Some(decision)
}

/// A server that answers its first connection in this way.
fn server(first: impl Fn(&mut Peer, &Asked) + Send + Sync + 'static) -> FakeServer {
    FakeServer::start(move |connection, peer| {
        while let Some(asked) = peer.next_question() {
            if connection == 1 {
                first(peer, &asked);
            } else {
                peer.send(&asked.reply());
            }
        }
    })
}

/// Asks of a server that goes astray on its first connection only.
fn never_takes_the_wrong_one(server: &FakeServer) {
    let store = Redis::new(server.dsn(), BUDGET);
    let answered = (1..=20).filter(|n| ask(&store, n * 100).is_some()).count();
    assert!(answered >= 19, "only {answered}");
}

#[test]
fn a_reply_too_many_in_the_same_segment() {
    never_takes_the_wrong_one(&server(|peer, asked| {
        peer.send(&asked.reply().repeat(2));
    }));
}

#[test]
fn a_reply_too_many_a_little_later() {
    never_takes_the_wrong_one(&server(|peer, asked| {
        peer.send(&asked.reply());
        std::thread::sleep(Duration::from_millis(5));
        peer.send(&asked.reply());
    }));
}

#[test]
fn a_reply_to_the_call_before() {
    let last = AtomicU64::new(0);
    never_takes_the_wrong_one(&server(move |peer, asked| {
        let before = last.swap(asked.number(-1), SeqCst);
        let reply = if before == 0 {
            asked.reply()
        } else {
            reply_to(before, 7)
        };
        peer.send(&reply);
    }));
}

#[test]
fn a_reply_without_a_number() {
    never_takes_the_wrong_one(&server(|peer, _| {
        peer.send(b"*6\r\n:1\r\n:1\r\n:7\r\n:0\r\n:1\r\n:0\r\n");
    }));
}

#[test]
fn every_policy_answers_where_a_reply_is_anothers() {
    every_policy_answers(|| {
        Trouble::of_the_second_call(server(|peer, asked| {
            peer.send(&asked.reply().repeat(2));
        }))
    });
}

#[test]
fn a_stray_number_does_not_pass_for_a_reset() {
    let server = FakeServer::start(|_, peer| {
        while let Some(asked) = peer.next_question() {
            peer.send(&asked.reply());
            peer.send(b":1\r\n");
        }
    });
    let store = Redis::new(server.dsn(), BUDGET);
    assert!(ask(&store, 100).is_some());
    // The stray may be taken for the reply or be noticed; in either case the
    // connection is of no more use.
    let _ = store.reset(Key::unnamed(b"k"), &window(100, 3600));
    assert!(ask(&store, 200).or_else(|| ask(&store, 200)).is_some());
}

#[test]
fn replies_of_an_earlier_connection_are_not_taken_on_a_later_one() {
    // A proxy that keeps its clients apart badly: the first reply on each
    // connection is the one that the connection before did not wait for.
    let kept: Arc<AtomicU64> = Arc::default();
    let server = FakeServer::start(move |_, peer| {
        while let Some(asked) = peer.next_question() {
            let before = kept.swap(asked.number(-1), SeqCst);
            if before == 0 {
                peer.be_silent();
                return;
            }
            peer.send(&reply_to(before, 7));
        }
    });
    let store = Redis::new(server.dsn(), BUDGET);
    for limit in 1..10 {
        assert!(ask(&store, limit * 100).is_none());
    }
}
