//! Servers that are not there, that do not accept, and names that say little:
//! connecting takes no longer than the call may.

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use sluice::store::Store;
use sluice::store::redis::{Address, Dsn, Place, Redis};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::support::limits::by_policy;
use crate::support::redis_server::RedisServer;
use crate::troubles::{BUDGET, Trouble, assert_redis_answers, every_policy_answers, take};

/// A server that is not up at first.
fn absent(server: RedisServer, dsn: Dsn) -> Trouble {
    let server = Rc::new(RefCell::new(server));
    server.borrow_mut().stop();
    let mut trouble = Trouble::at(dsn);
    trouble.well_at_first = false;
    trouble.heal = Box::new(move || server.borrow_mut().restart_empty());
    trouble
}

#[test]
fn a_socket_that_nobody_listens_on() {
    every_policy_answers(|| {
        let server = RedisServer::start();
        let dsn = server.dsn();
        absent(server, dsn)
    });
}

#[test]
fn a_port_that_nobody_listens_on() {
    every_policy_answers(|| {
        let server = RedisServer::start_tcp();
        let dsn = server.tcp_dsn();
        absent(server, dsn)
    });
}

#[test]
fn a_socket_that_never_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let dsn = Dsn::at(Address::Unix(dir.path().join("nothing.sock")));
    let store = Redis::new(dsn, BUDGET);
    for _ in 0..3 {
        let fault = take(&store, &by_policy::THROW).expect_err("nobody is there");
        assert!(fault.message.contains("nothing.sock"), "{fault}");
        assert!(fault.message.contains("cannot connect"), "{fault}");
    }
}

/// A listener whose queue is full, and what fills it.
fn one_that_accepts_nobody(domain: Domain, address: &SockAddr) -> (Socket, Vec<Socket>) {
    let socket = || Socket::new(domain, Type::STREAM, None).expect("a socket");
    let listener = socket();
    listener.bind(address).expect("the address is free");
    listener.listen(0).expect("it listens");
    let address = listener.local_addr().expect("it has an address");
    let waiting = (0..8)
        .map(|_| {
            let client = socket();
            client.set_nonblocking(true).expect("a socket");
            // Some of these wait in the queue, and some for a place in it.
            let _ = client.connect(&address);
            client
        })
        .collect();
    (listener, waiting)
}

#[test]
fn a_socket_that_accepts_nobody() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("full.sock");
    let address = SockAddr::unix(&path).expect("a short path");
    let _full = one_that_accepts_nobody(Domain::UNIX, &address);
    let store = Redis::new(Dsn::at(Address::Unix(path)), BUDGET);
    assert!(take(&store, &by_policy::THROW).is_err());
}

#[test]
fn a_port_that_accepts_nobody() {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let full = one_that_accepts_nobody(Domain::IPV4, &any.into());
    let address = full.0.local_addr().expect("it has an address");
    let address = address.as_socket().expect("an address of IP");
    let dsn = Dsn::at(Address::Tcp {
        host: address.ip().to_string(),
        port: address.port(),
    });
    let store = Redis::new(dsn, BUDGET);
    assert!(take(&store, &by_policy::THROW).is_err());
}

#[test]
fn a_name_that_is_none() {
    let dsn = Dsn::parse("redis://no-such-host.invalid").expect("a DSN");
    let store = Redis::new(dsn, BUDGET);
    for _ in 0..3 {
        assert!(take(&store, &by_policy::THROW).is_err());
    }
}

#[test]
fn a_server_on_one_of_the_addresses_of_its_name() {
    // `localhost` is ::1 first on many hosts; the server is on 127.0.0.1 only.
    let server = RedisServer::start_tcp();
    let Place::One(Address::Tcp { port, .. }) = server.tcp_dsn().place else {
        panic!("a DSN of TCP");
    };
    let host = "localhost".to_owned();
    let store = Redis::new(Dsn::at(Address::Tcp { host, port }), BUDGET);
    for _ in 0..3 {
        assert_redis_answers(&take(&store, &by_policy::THROW));
    }
    let status = store.status().redis.expect("a connection");
    assert_eq!(status.connections, 1);
}
