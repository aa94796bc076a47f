//! A Cluster: slots on their way, nodes that point at each other, and several
//! keys at once where no node has them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use sluice::limit::{Ask, Key, Limit};
use sluice::store::redis::Redis;
use sluice::store::{Answer, Question, Store};

use crate::front::Front;
use crate::support::fake_server::FakeServer;
use crate::support::limits::{permits, question, window};
use crate::support::redis_server::PATIENT;
use crate::troubles::ask;
use crate::worlds::{World, wait_for};

fn takes<'a>(key: &'a [u8], limit: &'a Limit) -> Question<'a> {
    question(Key::unnamed(key), limit, Ask::take(1))
}

fn left(store: &Redis, key: &[u8], limit: &Limit) -> u32 {
    let look = question(Key::unnamed(key), limit, Ask::take(0));
    store.decide(&look).expect("an answer").decision.remaining
}

fn node_of(world: &World, store: &Redis) -> usize {
    let status = store.status().redis.expect("a connection");
    world.at(&status.node.expect("it was asked"))
}

/// Two keys whose slots are on different nodes, and those nodes.
pub fn keys_apart(world: &World, store: &Redis, limit: &Limit) -> [(Vec<u8>, usize); 2] {
    let mut found: Vec<(Vec<u8>, usize)> = Vec::new();
    for number in 0..100 {
        let key = format!("key {number}").into_bytes();
        left(store, &key, limit);
        let node = node_of(world, store);
        if found.iter().all(|(_, other)| *other != node) {
            found.push((key, node));
        }
        if let [first, second] = &found[..] {
            return [first.clone(), second.clone()];
        }
    }
    panic!("all keys are on one node");
}

fn allowed(answers: &[Answer]) -> Vec<bool> {
    answers.iter().map(|part| part.decision.allowed).collect()
}

#[test]
fn a_slot_on_its_way_loses_no_call_and_counts_none_twice() {
    let world = World::cluster();
    let store = Redis::new(world.dsn(), PATIENT);
    let limit = window(1000, 3600);
    let mut spent = 0;
    let mut charge = |key: &[u8]| {
        let answer = store.decide(&takes(key, &limit)).expect("an answer");
        spent += 1;
        answer.decision.remaining
    };
    let moves = b"moves";
    assert_eq!(charge(moves), 999);
    let from = node_of(&world, &store);
    let name = world.servers[from].command(&["KEYS", "*"]);
    let slot = world.servers[from].command(&["CLUSTER", "KEYSLOT", &name]);
    let other = keys_apart(&world, &store, &limit);
    let (_, to) = other
        .into_iter()
        .find(|(_, node)| *node != from)
        .expect("another");
    let id = |server: usize| world.servers[server].command(&["CLUSTER", "MYID"]);
    let (from_id, to_id) = (id(from), id(to));
    let on = |server: usize, words: &[&str]| world.servers[server].command(words);

    on(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
    on(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
    // The key is still where it was.
    assert_eq!(charge(moves), 998);
    let port = world.servers[to]
        .port()
        .expect("started with one")
        .to_string();
    on(from, &["MIGRATE", "127.0.0.1", &port, &name, "0", "5000"]);
    // Now the old node says ASK for it.
    for left in (990..998).rev() {
        assert_eq!(charge(moves), left);
    }
    // Two limits of one key, of which one is there and one is new: TRYAGAIN.
    let short = window(5, 60);
    let both = [takes(moves, &limit), takes(moves, &short)];
    let answers = store.decide_all(&both).expect("an answer");
    spent += 1;
    assert_eq!(allowed(&answers), [true, true]);
    assert_eq!(answers[0].decision.remaining, 989);
    assert_eq!(answers[1].decision.remaining, 4);

    for server in [to, from] {
        on(server, &["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]);
    }
    // Now it says MOVED, and is not asked again.
    for left in (980..989).rev() {
        let answer = store.decide(&takes(moves, &limit)).expect("an answer");
        assert_eq!(answer.decision.remaining, left);
        spent += 1;
        assert_eq!(node_of(&world, &store), to);
    }
    assert_eq!(left(&store, moves, &limit), 1000 - spent);
    let status = store.status().redis.expect("a connection");
    // TRYAGAIN is no answer, but the call was.
    assert!(status.faults <= 1, "{status:?}");
}

#[test]
fn several_keys_at_once_take_all_or_nothing_whoever_else_does() {
    let world = World::cluster();
    let (wide, narrow) = (window(1000, 3600), window(60, 3600));
    let store = Redis::new(world.dsn(), PATIENT);
    let [(first, _), (second, _)] = keys_apart(&world, &store, &wide);
    let passed = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = Redis::new(world.dsn(), PATIENT);
                for _ in 0..30 {
                    let both = [takes(&first, &wide), takes(&second, &narrow)];
                    let answers = store.decide_all(&both).expect("an answer");
                    if allowed(&answers) == [true, true] {
                        passed.fetch_add(1, SeqCst);
                    }
                }
            });
        }
    });
    let passed = passed.into_inner();
    assert!((50..=60).contains(&passed), "{passed} passed");
    assert_eq!(left(&store, &first, &wide), 1000 - passed);
    assert_eq!(left(&store, &second, &narrow), 60 - passed);
}

#[test]
fn what_was_taken_is_given_back_where_another_node_fails() {
    let world = World::cluster();
    let store = Redis::new(world.dsn(), PATIENT);
    let limit = window(100, 3600);
    let slots = permits(3, 60);
    let [(first, _), (second, node)] = keys_apart(&world, &store, &limit);
    let all = [
        takes(&first, &limit),
        takes(&first, &slots),
        takes(&second, &limit),
    ];
    // It can be looked at still, but not written.
    world.servers[node].command(&["CONFIG", "SET", "maxmemory", "1"]);
    for _ in 0..3 {
        let fault = store.decide_all(&all).expect_err("one of them fails");
        assert!(fault.message.contains("OOM"), "{fault}");
        assert_eq!(left(&store, &first, &limit), 100);
        assert_eq!(left(&store, &first, &slots), 3);
    }
    world.servers[node].command(&["CONFIG", "SET", "maxmemory", "0"]);
    let answers = store.decide_all(&all).expect("an answer");
    assert_eq!(allowed(&answers), [true; 3]);
    assert!(answers[1].permit.is_some());
    assert_eq!(left(&store, &first, &slots), 2);
    assert_eq!(left(&store, &second, &limit), 99);
}

#[test]
fn a_plain_dsn_of_a_node_says_what_to_write_instead() {
    let world = World::cluster();
    let messages: Vec<_> = (0..3)
        .filter_map(|server| {
            let dsn = world.servers[server].tcp_dsn();
            let fault = ask(&Redis::new(dsn, PATIENT)).err()?;
            Some(fault.to_string())
        })
        .collect();
    assert!(!messages.is_empty());
    for message in messages {
        assert!(message.contains("write redis+cluster://"), "{message}");
    }
}

/// A node that has every slot by its own words, and says this of each call.
struct Pointing {
    server: FakeServer,
    front: Front,
}

impl Pointing {
    fn at(reply: impl Fn(u16) -> String + Send + Sync + 'static) -> (Self, Arc<AtomicU32>) {
        let to = Arc::new(AtomicU32::new(0));
        let server = FakeServer::start({
            let to = Arc::clone(&to);
            move |_, peer| {
                while peer.next_question().is_some() {
                    peer.send(reply(to.load(SeqCst) as u16).as_bytes());
                }
            }
        });
        let front = Front::before(&server.socket(), None);
        server.is_at(front.port());
        (Self { server, front }, to)
    }

    fn store(&self) -> Redis {
        let text = format!("redis+cluster://127.0.0.1:{}", self.front.port());
        Redis::new(World::parse(&text), PATIENT)
    }
}

#[test]
fn nodes_that_point_at_each_other_are_not_followed_for_ever() {
    for word in ["MOVED", "ASK"] {
        let point = move |port: u16| format!("-{word} 1 127.0.0.1:{port}\r\n");
        let (one, to_other) = Pointing::at(point);
        let (other, to_one) = Pointing::at(point);
        to_other.store(other.front.port().into(), SeqCst);
        to_one.store(one.front.port().into(), SeqCst);
        let limit = window(100, 3600);
        let answer = one.store().decide(&takes(b"k", &limit));
        let fault = answer.expect_err("nobody answers");
        assert!(fault.message.contains(word), "{fault}");
        // The call and two hops.
        assert_eq!(one.server.questions() + other.server.questions(), 3);
    }
}

#[test]
fn a_redirection_that_may_be_anothers_is_not_followed() {
    let (target, _) = Pointing::at(|_| "+OK\r\n".into());
    let port = target.front.port();
    for word in ["MOVED", "ASK"] {
        // The redirection of a call before, and then the answer to this one.
        let (one, _) = Pointing::at(move |_| {
            format!(
                "-{word} 1 127.0.0.1:{port}\r\n*7\r\n:1\r\n:1\r\n:1\r\n:9\r\n:0\r\n:1\r\n:0\r\n"
            )
        });
        let limit = window(100, 3600);
        let answer = one.store().decide(&takes(b"k", &limit));
        assert!(answer.is_err(), "{answer:?}");
        assert_eq!(one.server.questions(), 1);
    }
    assert_eq!(target.server.questions(), 0);
}

#[test]
fn a_slot_that_nobody_has_is_looked_for_again() {
    let server = FakeServer::start(|_, peer| peer.serve());
    let front = Front::before(&server.socket(), None);
    server.is_at(front.port());
    server.lacks(16_383);
    let text = format!("redis+cluster://127.0.0.1:{}", front.port());
    let store = Redis::new(World::parse(&text), PATIENT);
    let fault = ask(&store).expect_err("nobody has it");
    assert!(fault.message.contains("no node has slot"), "{fault}");
    server.lacks(0);
    wait_for("a map with all slots", || ask(&store).is_ok());
}

#[test]
fn a_proxy_that_refuses_several_slots_is_asked_slot_by_slot_from_then_on() {
    for words in [
        "CROSSSLOT Keys in request don't hash to the same slot",
        "ERR 'EVALSHA' command keys must in same slot",
    ] {
        let refused = Arc::new(AtomicU32::new(0));
        let server = FakeServer::start({
            let refused = Arc::clone(&refused);
            move |_, peer| {
                while let Some(asked) = peer.next_question() {
                    if asked.keys() > 1 {
                        refused.fetch_add(1, SeqCst);
                        peer.send(format!("-{words}\r\n").as_bytes());
                    } else {
                        peer.send(&asked.reply());
                    }
                }
            }
        });
        let store = Redis::new(server.dsn(), PATIENT);
        let limit = window(100, 3600);
        for _ in 0..3 {
            let both = [takes(b"one", &limit), takes(b"another", &limit)];
            let answers = store.decide_all(&both).expect("they are answered");
            assert_eq!(allowed(&answers), [true, true]);
        }
        assert_eq!(refused.load(SeqCst), 1);
        // Twice for each key, to look and to take, and the one in vain.
        assert_eq!(server.questions(), 3 * 4 + 1);
        let status = store.status().redis.expect("a connection");
        assert_eq!(status.connections, 1);
    }
}
