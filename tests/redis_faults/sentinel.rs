//! A master that Sentinels name: which of them are believed, and what a
//! failover costs.

use std::net::{Ipv4Addr, TcpListener};

use sluice::limit::{Ask, Key, Limit};
use sluice::store::Store;
use sluice::store::redis::Redis;

use crate::front::Front;
use crate::names::HANGS;
use crate::support::fake_server::FakeServer;
use crate::support::limits::{bucket, by_policy, question, window};
use crate::support::redis_server::{PATIENT, RedisServer};
use crate::troubles::{BUDGET, ask, assert_redis_answers, take, take_from_well};
use crate::worlds::{PASSWORD, Sentinel, USER, World, wait_for};

fn dsn_by(sentinels: &[u16], rest: &str) -> String {
    let hosts: Vec<_> = sentinels
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    format!("redis+sentinel://{}/{rest}", hosts.join(","))
}

fn store(text: &str) -> Redis {
    Redis::new(World::parse(text), PATIENT)
}

fn refusal(store: &Redis) -> String {
    ask(store).expect_err("nobody is there").to_string()
}

/// A server and one Sentinel that watches it.
fn watched(more: &str) -> (RedisServer, Sentinel) {
    let server = RedisServer::start_tcp();
    let port = server.port().expect("started with one");
    let sentinel = Sentinel::of(port, 1, more);
    (server, sentinel)
}

#[test]
fn a_master_is_asked_for_once_and_kept() {
    let (server, sentinel) = watched("");
    let store = store(&dsn_by(&[sentinel.port], "the-master/3"));
    for _ in 0..5 {
        assert_redis_answers(&ask(&store));
    }
    let status = store.status().redis.expect("a connection");
    assert_eq!((status.topology, status.connections), ("sentinel", 1));
    let port = server.port().expect("started with one");
    assert_eq!(status.node, Some(format!("127.0.0.1:{port}")));
    let keyspace = server.command(&["INFO", "keyspace"]);
    assert!(keyspace.contains("db3:keys=1"), "{keyspace}");
}

#[test]
fn sentinels_that_are_away_or_silent_leave_time_for_the_next() {
    let (_server, sentinel) = watched("");
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let silent = silent.local_addr().map(|at| (silent, at.port()));
    let (_silent, silent) = silent.expect("an address");
    // A name that never resolves, a port that says nothing, one where nobody
    // listens, and a Sentinel.
    let text = dsn_by(&[silent, 1, sentinel.port], "the-master");
    let text = text.replace("://", &format!("://never.{HANGS},"));
    let store = Redis::new(World::parse(&text), BUDGET);
    assert_redis_answers(&take_from_well(&store, &by_policy::THROW).0);
    assert_redis_answers(&take(&store, &by_policy::THROW));
}

#[test]
fn a_name_that_no_sentinel_knows_is_named() {
    let (_server, sentinel) = watched("");
    let message = refusal(&store(&dsn_by(&[sentinel.port], "another")));
    assert!(
        message.contains("it knows no master named another"),
        "{message}"
    );
}

#[test]
fn sentinels_have_a_login_of_their_own() {
    let (_server, sentinel) = watched("requirepass correct-horse");
    let message = refusal(&store(&dsn_by(&[sentinel.port], "the-master")));
    assert!(message.contains("NOAUTH"), "{message}");
    let login = "the-master?sentinel_password=wrong-horse";
    let message = refusal(&store(&dsn_by(&[sentinel.port], login)));
    assert!(
        message.contains("WRONGPASS") && !message.contains("wrong-horse"),
        "{message}"
    );
    let login = "the-master?sentinel_password=correct-horse";
    let store = store(&dsn_by(&[sentinel.port], login));
    assert_redis_answers(&ask(&store));
}

#[test]
fn a_sentinel_that_names_a_replica_is_not_believed() {
    let world = World::sentinel();
    let liar = FakeServer::start(|_, peer| peer.serve());
    liar.is_at(world.servers[1].port().expect("the replica's"));
    let front = Front::before(&liar.socket(), None);
    let mut ports = vec![front.port()];
    ports.extend(world.sentinel_ports());
    let store = store(&dsn_by(&ports, "the-master"));
    assert_redis_answers(&ask(&store));
    let node = store.status().redis.and_then(|status| status.node);
    assert_eq!(world.at(&node.expect("it was asked")), 0);
}

#[test]
fn a_master_that_became_a_replica_is_left_within_the_call() {
    let world = World::sentinel();
    let store = Redis::new(world.dsn(), PATIENT);
    assert_redis_answers(&ask(&store));
    // The Sentinels have another master, and our connection to the old one is
    // still open, so that it can say READONLY.
    let liar = FakeServer::start(|_, peer| peer.serve());
    liar.is_at(world.servers[0].port().expect("the old master's"));
    let front = Front::before(&liar.socket(), None);
    let text = dsn_by(&[front.port()], "the-master");
    let only = Redis::new(World::parse(&text), PATIENT);
    assert_redis_answers(&ask(&only));
    world.servers[0].command(&["REPLICAOF", "127.0.0.1", "1"]);
    liar.is_at(world.servers[1].port().expect("the new master's"));
    world.servers[1].command(&["REPLICAOF", "NO", "ONE"]);
    assert_redis_answers(&ask(&only));
    let status = only.status().redis.expect("a connection");
    assert_eq!((status.connections, status.faults), (2, 0));
}

/// Takes until one is refused, and says how many were let in.
fn take_all(store: &Redis, limit: &Limit) -> u32 {
    let ask = question(Key::unnamed(b"spent"), limit, Ask::take(1));
    let mut admitted = 0;
    while store
        .decide(&ask)
        .is_ok_and(|answer| answer.decision.allowed)
    {
        admitted += 1;
    }
    admitted
}

fn is_answered(store: &Redis) -> bool {
    let limit = window(100, 3600);
    let look = question(Key::unnamed(b"any"), &limit, Ask::take(0));
    store.decide(&look).is_ok()
}

fn take_some(store: &Redis, limit: &Limit, count: u32) {
    let ask = question(Key::unnamed(b"spent"), limit, Ask::take(1));
    for _ in 0..count {
        assert!(
            store
                .decide(&ask)
                .is_ok_and(|answer| answer.decision.allowed)
        );
    }
}

#[test]
fn a_failover_lets_in_what_replication_lost_and_blocks_nobody() {
    let mut world = World::sentinel();
    let store = Redis::new(world.dsn(), PATIENT);
    let (hour, quick) = (window(100, 3600), bucket(1, 5));
    take_some(&store, &hour, 40);
    let quick_ask = question(Key::unnamed(b"quick"), &quick, Ask::take(1));
    assert!(store.decide(&quick_ask).is_ok());
    let replica = &world.servers[1];
    wait_for("a replica that has it all", || {
        let offset = |server: &RedisServer| {
            let info = server.command(&["INFO", "replication"]);
            let line = info
                .lines()
                .find(|line| line.starts_with("master_repl_offset"));
            line.map(str::to_owned)
        };
        offset(&world.servers[0]) == offset(replica)
    });
    // From here on the replica learns nothing.
    let mut admin = world.servers[0].connect();
    for words in [
        &["CONFIG", "SET", "maxclients", "1"][..],
        &["CLIENT", "KILL", "TYPE", "replica"],
    ] {
        let done = redis::cmd(words[0]).arg(&words[1..]).exec(&mut admin);
        done.expect("the server does as it is told");
    }
    take_some(&store, &hour, 7);
    world.servers[0].stop();
    wait_for("a new master", || is_answered(&store));
    assert_eq!(take_all(&store, &hour), 100 - 40, "all but what it knew of");
    wait_for("the key that was empty", || {
        store
            .decide(&quick_ask)
            .is_ok_and(|answer| answer.decision.allowed)
    });
    world.revive(0);
    let status = store.status().redis.expect("a connection");
    assert!(!format!("{status:?}").contains(PASSWORD) && status.dsn.contains(USER));
}
