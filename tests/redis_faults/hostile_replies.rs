//! Replies that no Redis sends: they are no answers, and neither make the
//! process hold much memory nor end it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use sluice::limit::{Ask, Key};
use sluice::store::redis::Redis;
use sluice::store::{Answer, Fault, Store};

use crate::support::fake_server::FakeServer;
use crate::support::heap::most_held;
use crate::support::limits::{question, window};
use crate::support::rng::Rng;
use crate::troubles::{BUDGET, Trouble, every_policy_answers, in_time};

/// What a call may hold, whatever it is sent. The parser alone may reserve
/// 4096 values for each level of arrays, of which there are 100.
const MOST_HELD: usize = 48 << 20;

const HUGE: &str = "9223372036854775807";

/// Replies of which none answers a question.
const BAD: &[&[u8]] = &[
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\0\0\0\0\0\0\0\0",
    // Cut off.
    b"*7\r\n:1",
    b"*7\r\n:1\r\n:9\r\n",
    // Of another shape.
    b"*6\r\n:1\r\n:1\r\n:9\r\n:0\r\n:1\r\n:0\r\n",
    b"*0\r\n",
    b"*7\r\n$1\r\n1\r\n$1\r\n9\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n",
    b":1\r\n",
    b"+OK\r\n",
    b"-ERR no such thing\r\n",
    // Of no shape.
    b":one\r\n",
    b":9223372036854775808\r\n",
    b"-\r\n",
    b"-\xff\xfe\r\n",
];

/// Lengths that are none, or nobody's.
const LENGTHS: [&str; 6] = [
    HUGE,
    "-9223372036854775808",
    "-1",
    "-2",
    "99999999999999999999",
    "",
];

/// What a reply may start with, in any version of the protocol.
const MARKS: &str = "*$%~>|=!(:,#_";

fn hostile() -> Vec<Vec<u8>> {
    let mut replies: Vec<_> = BAD.iter().map(|reply| reply.to_vec()).collect();
    for mark in MARKS.chars() {
        replies.extend(LENGTHS.map(|length| format!("{mark}{length}\r\n").into_bytes()));
        replies.push(format!("{mark}{HUGE}\r\n").repeat(200).into_bytes());
    }
    replies.push(b"*1\r\n".repeat(100_000));
    replies.push(b"+".repeat(100_000));
    replies
}

/// A server that sends these bytes as its second reply and hangs up.
fn saying(bytes: Vec<u8>) -> FakeServer {
    FakeServer::start(move |connection, peer| {
        if connection > 1 {
            peer.serve();
        } else if peer.serve_some(1) && peer.next_question().is_some() {
            peer.send(&bytes);
        }
    })
}

#[test]
fn every_policy_answers_where_a_reply_is_none() {
    for bytes in [
        "*7\r\n:1\r\n:9\r\n".into(),
        "HTTP/1.1 400 Bad Request\r\n\r\n".into(),
        format!("*{HUGE}\r\n"),
        format!("${HUGE}\r\n"),
    ] {
        println!("with {bytes:?}");
        every_policy_answers(|| Trouble::of_the_second_call(saying(bytes.clone().into_bytes())));
    }
}

#[test]
fn no_reply_ends_the_process_or_makes_it_hold_much() {
    for bytes in hostile() {
        println!("with {}", bytes[..bytes.len().min(60)].escape_ascii());
        let server = saying(bytes);
        let store = Redis::new(server.dsn(), BUDGET);
        assert!(ask(&store).is_ok());
        let (answer, held) = most_held(|| in_time(|| ask(&store)));
        assert!(answer.is_err(), "{answer:?}");
        assert!(held < MOST_HELD, "{held} bytes");
        assert!(ask(&store).is_ok());
    }
}

#[test]
fn a_flood_is_not_taken_in() {
    for (start, rest) in [
        (format!("${HUGE}\r\n"), "x".repeat(1 << 16)),
        (format!("*{HUGE}\r\n"), ":1\r\n".repeat(1 << 14)),
        (format!("%{HUGE}\r\n"), "$1\r\nx\r\n".repeat(1 << 13)),
        ("+".into(), "x".repeat(1 << 16)),
        ("*1\r\n*2000000000\r\n".into(), "$-1\r\n".repeat(1 << 14)),
    ] {
        println!("that starts with {start:?}");
        let server = FakeServer::start(move |connection, peer| {
            if connection > 1 {
                peer.serve();
            } else if peer.next_question().is_some() {
                peer.send(start.as_bytes());
                while peer.send_some(rest.as_bytes()) {}
            }
        });
        let mut dsn = server.dsn();
        // Time for a few hundred megabytes, if the call would take them.
        dsn.timeout = Some(Duration::from_secs(2));
        let store = Redis::new(dsn, BUDGET);
        let (answer, held) = most_held(|| ask(&store));
        assert!(answer.is_err(), "{answer:?}");
        assert!(held < MOST_HELD, "{held} bytes");
        assert!(ask(&store).is_ok());
    }
}

#[test]
fn damaged_replies_end_nothing() {
    let broken = Arc::new(AtomicBool::new(true));
    let server = FakeServer::start({
        let broken = Arc::clone(&broken);
        move |connection, peer| {
            let mut rng = Rng::seeded(connection);
            while let Some(asked) = peer.next_question() {
                let mut reply = asked.reply();
                if broken.load(SeqCst) {
                    damage(&mut rng, &mut reply);
                    peer.send(&reply);
                    return;
                }
                peer.send(&reply);
            }
        }
    });
    let store = Redis::new(server.dsn(), BUDGET);
    for _ in 0..500 {
        let (_, held) = most_held(|| in_time(|| ask(&store)));
        assert!(held < MOST_HELD, "{held} bytes");
    }
    broken.store(false, SeqCst);
    assert!(ask(&store).or_else(|_| ask(&store)).is_ok());
}

/// Changes some bytes, or takes some away, or puts some in.
fn damage(rng: &mut Rng, reply: &mut Vec<u8>) {
    let marks = b"*$%~>|=!(:,#_+-\r\n0123456789\xff";
    for _ in 0..=rng.below(4) {
        let at = rng.below(reply.len() as u64) as usize;
        let byte = rng.pick(marks);
        match rng.below(3) {
            0 => reply[at] = byte,
            1 => reply.insert(at, byte),
            _ => reply.truncate(at.max(1)),
        }
    }
}

fn ask(store: &Redis) -> Result<Answer, Fault> {
    let limit = window(100, 3600);
    store.decide(&question(Key::unnamed(b"k"), &limit, Ask::take(1)))
}
