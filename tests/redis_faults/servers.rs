//! What happens to real servers: they forget, restart, stand still, fill up,
//! and become replicas.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use sluice::limit::{Ask, Decision, Key};
use sluice::store::Store;
use sluice::store::redis::Redis;

use crate::support::limits::{by_policy, question, window};
use crate::support::redis_server::RedisServer;
use crate::troubles::{
    BUDGET, LIMIT, Trouble, assert_redis_answers, every_policy_answers, in_time, take,
};

/// A trouble made of commands to a real server.
fn trouble(strike: &'static [&'static str], heal: &'static [&'static str]) -> Trouble {
    let server = Rc::new(RedisServer::start());
    let run = |commands: &'static [&'static str]| {
        let server = Rc::clone(&server);
        move || {
            for command in commands {
                let words: Vec<_> = command.split(' ').collect();
                server.command(&words);
            }
        }
    };
    let mut trouble = Trouble::at(server.dsn());
    trouble.strike = Box::new(run(strike));
    trouble.heal = Box::new(run(heal));
    trouble
}

fn decision(store: &Redis) -> Option<Decision> {
    let limit = window(LIMIT, 3600);
    let answer = in_time(|| store.decide(&question(Key::unnamed(b"k"), &limit, Ask::take(1))));
    answer.ok().map(|answer| answer.decision)
}

#[test]
fn a_server_that_stands_still() {
    every_policy_answers(|| {
        let server = Rc::new(RedisServer::start());
        let mut trouble = Trouble::at(server.dsn());
        let paused = Rc::clone(&server);
        trouble.strike = Box::new(move || paused.pause());
        trouble.heal = Box::new(move || server.resume());
        trouble
    });
}

#[test]
fn a_server_that_is_killed_and_comes_back() {
    every_policy_answers(|| {
        let server = Rc::new(RefCell::new(RedisServer::start()));
        let mut trouble = Trouble::at(server.borrow().dsn());
        let killed = Rc::clone(&server);
        trouble.strike = Box::new(move || killed.borrow_mut().stop());
        trouble.heal = Box::new(move || server.borrow_mut().restart_empty());
        trouble
    });
}

#[test]
fn a_replica_that_may_not_be_written() {
    every_policy_answers(|| trouble(&["REPLICAOF 127.0.0.1 1"], &["REPLICAOF NO ONE"]));
}

#[test]
fn a_replica_that_does_not_answer_with_stale_data() {
    every_policy_answers(|| {
        trouble(
            &[
                "CONFIG SET replica-serve-stale-data no",
                "REPLICAOF 127.0.0.1 1",
            ],
            &["REPLICAOF NO ONE"],
        )
    });
}

#[test]
fn a_server_without_memory() {
    every_policy_answers(|| trouble(&["CONFIG SET maxmemory 1"], &["CONFIG SET maxmemory 0"]));
}

#[test]
fn a_server_that_has_all_its_clients() {
    every_policy_answers(|| {
        let server = RedisServer::start();
        let dsn = server.dsn();
        let only_client = Rc::new(RefCell::new(server.connect()));
        let limit_to = move |count: u32| {
            redis::cmd("CONFIG")
                .arg(&["SET", "maxclients"])
                .arg(count)
                .exec(&mut only_client.borrow_mut())
                .expect("the server does as it is told");
            // Lives as long as this.
            let _ = &server;
        };
        let limit_to = Rc::new(limit_to);
        let mut trouble = Trouble::at(dsn);
        trouble.well_at_first = false;
        let strike = Rc::clone(&limit_to);
        trouble.strike = Box::new(move || strike(1));
        trouble.heal = Box::new(move || limit_to(100));
        trouble
    });
}

#[test]
fn a_key_that_holds_something_else() {
    for command in ["LPUSH", "SADD"] {
        every_policy_answers(|| {
            let server = Rc::new(RedisServer::start());
            let mut trouble = Trouble::at(server.dsn());
            let spoiled = Rc::clone(&server);
            trouble.strike = Box::new(move || {
                let key = spoiled.command(&["KEYS", "*"]);
                spoiled.command(&["DEL", &key]);
                spoiled.command(&[command, &key, "something else"]);
            });
            trouble.heal = Box::new(move || {
                server.command(&["FLUSHALL"]);
            });
            trouble
        });
    }
}

#[test]
fn a_string_that_is_no_state_says_nothing() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), BUDGET);
    for garbage in ["", "something else", "0123456789012345678901234567890"] {
        let first = decision(&store).map(|decision| decision.remaining);
        let key = server.command(&["KEYS", "*"]);
        server.command(&["SET", &key, garbage]);
        let then = decision(&store).map(|decision| decision.remaining);
        assert_eq!(then, first, "after {garbage:?}");
        server.command(&["FLUSHALL"]);
    }
}

#[test]
fn a_server_that_forgot_its_scripts_loses_no_call() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), BUDGET);
    for left in (0..LIMIT as u32).rev().take(5) {
        assert_eq!(
            decision(&store).map(|decision| decision.remaining),
            Some(left)
        );
        server.command(&["SCRIPT", "FLUSH"]);
    }
}

#[test]
fn a_server_restarted_empty_costs_one_answer_at_most() {
    for mut server in [RedisServer::start(), RedisServer::start_tcp()] {
        let store = Redis::new(server.dsn(), BUDGET);
        assert!(decision(&store).is_some());
        server.restart_empty();
        let next = decision(&store).or_else(|| decision(&store));
        assert_eq!(next.map(|next| next.remaining), Some(LIMIT as u32 - 1));
    }
}

#[test]
fn a_server_that_closes_connections_costs_one_answer_at_most() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), BUDGET);
    for _ in 0..5 {
        assert!(decision(&store).or_else(|| decision(&store)).is_some());
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    }
}

#[test]
fn a_server_that_closes_idle_connections_costs_nothing() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), BUDGET);
    for _ in 0..2 {
        assert_redis_answers(&take(&store, &by_policy::THROW));
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        // Connections are looked at once they were idle for a second.
        std::thread::sleep(Duration::from_millis(1050));
    }
    let status = store.status().redis.expect("a connection");
    assert_eq!((status.connections, status.faults), (2, 0));
}
