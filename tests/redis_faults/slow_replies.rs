//! A server that answers late, or a little at a time, or not at all, costs its
//! callers the timeout and no more.

use std::time::Duration;

use sluice::limit::{Ask, Key};
use sluice::store::Store;
use sluice::store::redis::{Budget, Redis};

use crate::support::fake_server::{FakeServer, Peer};
use crate::support::limits::{by_policy, question, window};
use crate::troubles::{BUDGET, TIMEOUT, Trouble, every_policy_answers, in_time, take};

/// A server whose second question gets this treatment, on its first connection.
fn treating(second: impl Fn(&mut Peer, Vec<u8>) + Send + Sync + 'static) -> FakeServer {
    FakeServer::start(move |connection, peer| {
        if connection > 1 {
            peer.serve();
        } else if peer.serve_some(1)
            && let Some(asked) = peer.next_question()
        {
            second(peer, asked.reply());
        }
    })
}

fn drip(peer: &mut Peer, bytes: &[u8]) {
    for byte in bytes {
        if !peer.send_some(&[*byte]) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_that_says_nothing() {
    every_policy_answers(|| Trouble::of_the_second_call(treating(|peer, _| peer.be_silent())));
}

#[test]
fn a_server_that_says_half_and_then_nothing() {
    every_policy_answers(|| {
        Trouble::of_the_second_call(treating(|peer, reply| {
            peer.send(&reply[..reply.len() / 2]);
            peer.be_silent();
        }))
    });
}

#[test]
fn a_server_that_drips() {
    every_policy_answers(|| {
        Trouble::of_the_second_call(treating(|peer, reply| drip(peer, &reply)))
    });
}

#[test]
fn a_server_that_announces_more_than_it_ever_sends() {
    for start in ["*9223372036854775807\r\n", "$9223372036854775807\r\n"] {
        every_policy_answers(|| {
            Trouble::of_the_second_call(treating(move |peer, _| {
                peer.send(start.as_bytes());
                drip(peer, &[b':'; 100]);
            }))
        });
    }
}

#[test]
fn a_server_that_answers_when_nobody_waits_any_more() {
    every_policy_answers(|| {
        Trouble::of_the_second_call(treating(|peer, reply| {
            std::thread::sleep(TIMEOUT * 2);
            peer.send(&reply);
            peer.serve();
        }))
    });
}

#[test]
fn a_server_that_hangs_up() {
    every_policy_answers(|| Trouble::of_the_second_call(treating(|_, _| ())));
}

#[test]
fn a_server_that_hangs_up_in_the_middle() {
    every_policy_answers(|| {
        Trouble::of_the_second_call(treating(|peer, reply| peer.send(&reply[..reply.len() - 3])))
    });
}

#[test]
fn a_server_that_greets_nobody() {
    for greeting in [
        "",
        "+OK",
        "$40\r\n",
        "-ERR max number of clients reached\r\n",
    ] {
        every_policy_answers(|| {
            let server = FakeServer::start(move |connection, peer| {
                if connection == 1 {
                    peer.send(greeting.as_bytes());
                    peer.be_silent();
                } else {
                    peer.serve();
                }
            });
            let mut trouble = Trouble::of_the_second_call(server);
            trouble.well_at_first = false;
            trouble
        });
    }
}

#[test]
fn a_server_that_hangs_up_while_nobody_asks() {
    let server = FakeServer::start(|_, peer| {
        peer.serve_some(1);
    });
    let store = Redis::new(server.dsn(), BUDGET);
    let limit = window(100, 3600);
    let ask = || store.decide(&question(Key::unnamed(b"k"), &limit, Ask::take(1)));
    let mut failed = false;
    for _ in 0..20 {
        // It may be noticed in time or not, but not twice in a row.
        let answered = in_time(ask).is_ok();
        assert!(answered || !failed);
        failed = !answered;
    }
}

#[test]
fn a_connection_that_was_idle_for_long_is_looked_at_first() {
    let server = FakeServer::start(|connection, peer| {
        // One hangs up after its answer, one sends what nobody asked for.
        if peer.serve_some(1) && connection == 2 {
            std::thread::sleep(Duration::from_millis(50));
            peer.send(b"-ERR idle for too long\r\n");
            peer.serve();
        }
    });
    let store = Redis::new(server.dsn(), BUDGET);
    let limit = window(100, 3600);
    for _ in 0..3 {
        let answer = store.decide(&question(Key::unnamed(b"k"), &limit, Ask::take(1)));
        assert!(answer.is_ok(), "{answer:?}");
        // Connections are looked at once they were idle for a second.
        std::thread::sleep(Duration::from_millis(1050));
    }
    assert_eq!(server.questions(), 3);
}

#[test]
fn a_dsn_that_has_more_time_has_it_for_the_greeting_too() {
    let server = FakeServer::start(|_, peer| {
        std::thread::sleep(Duration::from_millis(150));
        peer.serve();
    });
    let short = Budget {
        timeout: Duration::from_millis(20),
        connect: None,
    };
    let mut dsn = server.dsn();
    dsn.timeout = Some(Duration::from_secs(10));
    let store = Redis::new(dsn, short);
    assert!(take(&store, &by_policy::THROW).is_ok_and(|answer| answer.decision.allowed));
}
