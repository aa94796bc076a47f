//! TLS: whom the store believes, who it is to the server, and that nothing of
//! it takes longer than a call may.

use std::net::{Ipv4Addr, TcpListener};

use sluice::limit::{Ask, Key};
use sluice::store::Store;
use sluice::store::redis::{Dsn, Redis};

use crate::certificates::Certificates;
use crate::support::limits::{by_policy, question, window};
use crate::support::redis_server::{PATIENT, RedisServer, free_port};
use crate::troubles::{BUDGET, ask, assert_redis_answers, take};
use crate::worlds::{Sentinel, World, wait_for};

struct Secured {
    certificates: Certificates,
    port: u16,
    server: RedisServer,
}

impl Secured {
    fn start(clients: &str) -> Self {
        let (certificates, port) = (Certificates::new(), free_port());
        let options = certificates.options(port, clients);
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let server = RedisServer::start_with(&options);
        Self {
            certificates,
            port,
            server,
        }
    }

    /// A store by such a host, options with names of files in `{}`.
    fn store(&self, host: &str, options: &[(&str, &str)]) -> Redis {
        let options: Vec<_> = options
            .iter()
            .map(|(name, value)| match *name {
                "ca" | "cert" | "key" => format!("{name}={}", self.certificates.text(value)),
                _ => format!("{name}={value}"),
            })
            .collect();
        let text = format!("rediss://{host}:{}?{}", self.port, options.join("&"));
        Redis::new(Dsn::parse(&text).expect("a DSN"), PATIENT)
    }
}

fn refusal(store: &Redis) -> String {
    ask(store).expect_err("it is not believed").to_string()
}

#[test]
fn a_server_whose_authority_is_trusted_answers() {
    let secured = Secured::start("no");
    for host in ["localhost", "127.0.0.1"] {
        let store = secured.store(host, &[("ca", "ca.pem")]);
        for _ in 0..3 {
            assert_redis_answers(&ask(&store));
        }
        let status = store.status().redis.expect("a connection");
        assert_eq!((status.connections, status.faults), (1, 0));
    }
}

#[test]
fn what_is_sent_over_tls_cannot_be_read_without() {
    let secured = Secured::start("no");
    let text = format!("redis://localhost:{}", secured.port);
    let plain = Redis::new(Dsn::parse(&text).expect("a DSN"), PATIENT);
    assert!(ask(&plain).is_err());
}

#[test]
fn a_server_of_another_authority_is_not_believed() {
    let secured = Secured::start("no");
    for options in [&[("ca", "other-ca.pem")][..], &[]] {
        let message = refusal(&secured.store("localhost", options));
        assert!(message.contains("no TLS: "), "{message}");
        assert!(message.contains("certificate"), "{message}");
    }
    assert_eq!(secured.server.calls_of("evalsha").all, 0);
}

#[test]
fn a_server_of_another_name_is_not_believed_unless_that_name_is_wanted() {
    let secured = Secured::start("no");
    let other = refusal(&secured.store("localhost", &[("ca", "ca.pem"), ("server_name", "other")]));
    assert!(other.contains("no TLS: "), "{other}");
    let store = secured.store(
        "127.0.0.1",
        &[("ca", "ca.pem"), ("server_name", "localhost")],
    );
    assert_redis_answers(&ask(&store));
}

#[test]
fn whoever_says_so_believes_anybody_and_can_see_it() {
    let secured = Secured::start("no");
    let store = secured.store("localhost", &[("verify", "no")]);
    assert_redis_answers(&ask(&store));
    let status = store.status().redis.expect("a connection");
    assert!(status.dsn.ends_with("?verify=no"), "{}", status.dsn);
}

#[test]
fn a_client_shows_who_it_is() {
    let secured = Secured::start("yes");
    let stranger = secured.store("localhost", &[("ca", "ca.pem")]);
    // In words of its own, if they arrive before the connection is gone.
    refusal(&stranger);
    assert_eq!(secured.server.calls_of("evalsha").all, 0);
    let client = [
        ("ca", "ca.pem"),
        ("cert", "client.pem"),
        ("key", "client.key"),
    ];
    assert_redis_answers(&ask(&secured.store("localhost", &client)));
}

#[test]
fn files_that_are_none_are_named() {
    let secured = Secured::start("no");
    for options in [
        &[("ca", "missing.pem")][..],
        &[("ca", "ca.pem"), ("cert", "missing.pem")],
        &[
            ("ca", "ca.pem"),
            ("cert", "client.pem"),
            ("key", "missing.pem"),
        ],
        &[("ca", "ca.pem"), ("cert", "client.key")],
    ] {
        let message = refusal(&secured.store("localhost", options));
        assert!(message.contains("no TLS: "), "{message}");
    }
    let message = refusal(&secured.store("localhost", &[("ca", "missing.pem")]));
    assert!(message.contains("missing.pem"), "{message}");
}

#[test]
fn a_file_that_was_changed_is_read_anew() {
    let secured = Secured::start("no");
    let file = secured.certificates.path("turned.pem");
    std::fs::copy(secured.certificates.path("other-ca.pem"), &file).expect("a copy");
    let store = secured.store("localhost", &[("ca", "turned.pem")]);
    assert!(ask(&store).is_err());
    std::fs::copy(secured.certificates.path("ca.pem"), &file).expect("a copy");
    assert_redis_answers(&ask(&store));
}

#[test]
fn sentinels_and_their_master_over_tls() {
    let secured = Secured::start("no");
    let certificates = &secured.certificates;
    let options = certificates.options(secured.port, "no");
    let lines: Vec<_> = options[2..]
        .chunks(2)
        .map(|option| format!("{} {}\n", option[0].trim_start_matches('-'), option[1]))
        .collect();
    let more = format!(
        "port 0\ntls-port PORT\ntls-replication yes\n{}",
        lines.concat()
    );
    let sentinel = Sentinel::of(secured.port, 1, &more);
    let text = format!(
        "rediss+sentinel://127.0.0.1:{}/the-master?ca={}",
        sentinel.port,
        certificates.text("ca.pem")
    );
    let store = Redis::new(World::parse(&text), PATIENT);
    assert_redis_answers(&ask(&store));
    let status = store.status().redis.expect("a connection");
    assert_eq!(status.node, Some(format!("127.0.0.1:{}", secured.port)));
}

#[test]
fn all_nodes_of_a_cluster_over_tls() {
    let certificates = Certificates::new();
    let nodes: Vec<_> = ["0 5460", "5461 10922", "10923 16383"]
        .iter()
        .map(|slots| {
            let (port, bus) = (free_port(), free_port().to_string());
            let mut options = certificates.options(port, "no");
            let cluster = ["--cluster-enabled", "yes", "--tls-cluster", "yes"];
            options.extend(cluster.map(str::to_owned));
            options.extend(["--cluster-port".to_owned(), bus.clone()]);
            let options: Vec<_> = options.iter().map(String::as_str).collect();
            let server = RedisServer::start_with(&options);
            let (first, last) = slots.split_once(' ').expect("two of them");
            server.command(&["CLUSTER", "ADDSLOTSRANGE", first, last]);
            (server, port.to_string(), bus)
        })
        .collect();
    for (_, port, bus) in &nodes[1..] {
        nodes[0]
            .0
            .command(&["CLUSTER", "MEET", "127.0.0.1", port, bus]);
    }
    wait_for("a Cluster", || {
        nodes.iter().all(|(server, ..)| {
            let info = server.command(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
        })
    });
    let ca = certificates.text("ca.pem");
    let text = format!("rediss+cluster://127.0.0.1:{}?ca={ca}", nodes[0].1);
    let store = Redis::new(World::parse(&text), PATIENT);
    let limit = window(10, 3600);
    for number in 0..20_u32 {
        let key = number.to_be_bytes();
        let question = question(Key::unnamed(&key), &limit, Ask::take(1));
        assert_redis_answers(&store.decide(&question));
    }
    let status = store.status().redis.expect("a connection");
    assert_eq!((status.connections, status.faults), (3, 0), "one to each");
}

#[test]
fn a_server_that_does_not_shake_hands_costs_no_more_than_the_timeout() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let text = format!("rediss://127.0.0.1:{port}?verify=no");
    let store = Redis::new(Dsn::parse(&text).expect("a DSN"), BUDGET);
    for _ in 0..2 {
        let fault = take(&store, &by_policy::THROW);
        let message = fault.expect_err("it is silent").to_string();
        assert!(message.contains("no TLS: the time was up"), "{message}");
    }
}
