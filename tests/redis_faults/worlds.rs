//! Real servers in every layout that a DSN can name, each a world of its own.

use std::fmt::Write as _;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sluice::store::redis::Dsn;
use tempfile::TempDir;

use crate::certificates::Certificates;
use crate::support::redis_server::{RedisServer, free_port, program};

/// Who the store is to the servers of a world.
pub const USER: &str = "app";
/// By which password.
pub const PASSWORD: &str = "correct-horse";

/// Servers that belong together.
pub struct World {
    /// What a DSN calls it.
    pub name: &'static str,
    /// The servers that keep keys.
    pub servers: Vec<RedisServer>,
    sentinels: Vec<Sentinel>,
    certificates: Option<Certificates>,
    /// The port that a DSN names, by server.
    ports: Vec<u16>,
}

/// How long servers may take until they agree on who is master.
const PATIENCE: Duration = Duration::from_secs(40);

impl World {
    /// One server, over TCP.
    pub fn standalone() -> Self {
        let server = RedisServer::start_tcp_with(&[]);
        Self::of("standalone", vec![server])
    }

    /// One server, over TLS only.
    pub fn tls() -> Self {
        let (certificates, port) = (Certificates::new(), free_port());
        let options = certificates.options(port, "no");
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let mut world = Self::of("TLS", vec![RedisServer::start_with(&options)]);
        world.ports = vec![port];
        world.certificates = Some(certificates);
        world
    }

    /// A master, a replica and three Sentinels.
    pub fn sentinel() -> Self {
        let master = RedisServer::start_tcp_with(REPLICATION);
        let replica = RedisServer::start_tcp_with(REPLICATION);
        let port = master.port().expect("started with one");
        replica.command(&["REPLICAOF", "127.0.0.1", &port.to_string()]);
        let mut world = Self::of("Sentinel", vec![master, replica]);
        world.sentinels = (0..3).map(|_| Sentinel::of(port, 2, "")).collect();
        world.settle();
        world
    }

    /// Three masters and a replica of each.
    pub fn cluster() -> Self {
        let nodes: Vec<_> = (0..6)
            .map(|_| {
                let bus = free_port().to_string();
                let options = [REPLICATION, CLUSTER, &["--cluster-port", &bus]].concat();
                RedisServer::start_tcp_with(&options)
            })
            .collect();
        let world = Self::of("Cluster", nodes);
        let hosts = world.ports.iter().map(|port| format!("127.0.0.1:{port}"));
        let made = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(hosts)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .stdout(Stdio::null())
            .status()
            .expect("redis-cli is installed");
        assert!(made.success(), "the nodes do not make a Cluster");
        world.settle();
        world
    }

    fn of(name: &'static str, servers: Vec<RedisServer>) -> Self {
        let world = Self {
            name,
            ports: servers.iter().filter_map(RedisServer::port).collect(),
            servers,
            sentinels: Vec::new(),
            certificates: None,
        };
        for server in &world.servers {
            let_in(server);
        }
        world
    }

    /// A DSN of this world whose user is the one above.
    pub fn dsn(&self) -> Dsn {
        self.dsn_by("127.0.0.1", &format!("{USER}:{PASSWORD}@"))
    }

    /// The same by another host and another login.
    pub fn dsn_by(&self, host: &str, login: &str) -> Dsn {
        let list = |ports: &mut dyn Iterator<Item = u16>| {
            let mut text = String::new();
            for port in ports {
                let _ = write!(text, ",{host}:{port}");
            }
            text.split_off(1)
        };
        let servers = list(&mut self.ports.iter().copied());
        let text = match (self.name, &self.certificates) {
            (_, Some(certificates)) => format!(
                "rediss://{login}{servers}?ca={}&server_name=localhost",
                certificates.text("ca.pem")
            ),
            ("Sentinel", _) => {
                let sentinels = list(&mut self.sentinels.iter().map(|sentinel| sentinel.port));
                format!("redis+sentinel://{login}{sentinels}/the-master")
            }
            ("Cluster", _) => format!("redis+cluster://{login}{servers}"),
            _ => format!("redis://{login}{servers}"),
        };
        Dsn::parse(&text).expect("a DSN")
    }

    /// The server whose address a status gave.
    pub fn at(&self, node: &str) -> usize {
        let port = node.rsplit_once(':').map_or("", |(_, port)| port);
        let place = self.ports.iter().position(|own| own.to_string() == port);
        place.unwrap_or_else(|| panic!("no server at {node}"))
    }

    /// The ports of the Sentinels.
    pub fn sentinel_ports(&self) -> Vec<u16> {
        self.sentinels
            .iter()
            .map(|sentinel| sentinel.port)
            .collect()
    }

    /// A DSN of this world's kind, with something of the test's own in it.
    pub fn parse(text: &str) -> Dsn {
        Dsn::parse(text).expect("a DSN")
    }

    /// Whether another server takes the place of one that is lost.
    pub fn fails_over(&self) -> bool {
        self.servers.len() > 1
    }

    /// Starts a server again that was killed, as a replica where there is a new
    /// master.
    pub fn revive(&mut self, server: usize) {
        let master = self.master_by_sentinel().unwrap_or_default();
        let options = if master.is_empty() || master == self.ports[server].to_string() {
            Vec::new()
        } else {
            vec!["--replicaof".to_owned(), "127.0.0.1".to_owned(), master]
        };
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        self.servers[server].restart_with(&options);
        let_in(&self.servers[server]);
        self.settle();
    }

    /// Has a replica become the master of its keys, as an operator would.
    pub fn hand_over(&self, server: usize) {
        if self.name == "Sentinel" {
            let words = ["SENTINEL", "FAILOVER", "the-master"];
            wait_for("a failover", || {
                self.sentinels[0].ask(&words).contains("OK")
            });
            let before = self.ports[server].to_string();
            wait_for("a new master", || {
                self.master_by_sentinel()
                    .is_some_and(|master| master != before)
            });
            return;
        }
        let id = self.servers[server].command(&["CLUSTER", "MYID"]);
        let replica = self.servers.iter().find(|other| {
            let nodes = other.command(&["CLUSTER", "NODES"]);
            let myself = nodes.lines().find(|line| line.contains("myself"));
            myself.is_some_and(|line| line.contains("slave") && line.contains(&id))
        });
        let replica = replica.expect("each master has a replica");
        replica.command(&["CLUSTER", "FAILOVER"]);
        wait_for("a new master", || is_master(replica));
    }

    fn master_by_sentinel(&self) -> Option<String> {
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "the-master"];
        let reply = self.sentinels.first()?.ask(&words);
        reply.lines().nth(1).map(str::to_owned)
    }

    /// Waits until all servers are up and agree.
    pub fn settle(&self) {
        match self.name {
            "Sentinel" => wait_for("Sentinels that agree", || self.sentinels_agree()),
            "Cluster" => wait_for("a Cluster that is well", || {
                self.servers.iter().all(is_well_in_cluster)
            }),
            _ => {}
        }
    }

    fn sentinels_agree(&self) -> bool {
        let Some(master) = self.master_by_sentinel() else {
            return false;
        };
        let agree = self.sentinels.iter().all(|sentinel| {
            let state = sentinel.ask(&["SENTINEL", "MASTER", "the-master"]);
            let mut lines = state.lines();
            let mut field = |name: &str| {
                let mut lines = lines.by_ref().skip_while(|line| *line != name);
                lines.nth(1).unwrap_or_default().to_owned()
            };
            // In the order in which they stand there.
            let (port, flags) = (field("port"), field("flags"));
            let (replicas, others) = (field("num-slaves"), field("num-other-sentinels"));
            port == master && flags == "master" && replicas == "1" && others == "2"
        });
        let linked = self.servers.iter().all(|server| {
            let own = server.port().map(|port| port.to_string());
            own.as_deref() == Some(&master) && is_master(server) || is_linked(server)
        });
        agree && linked
    }
}

/// Replicas that are there at once, and forget nothing meanwhile.
const REPLICATION: &[&str] = &[
    "--repl-diskless-sync-delay",
    "0",
    "--repl-ping-replica-period",
    "1",
];

const CLUSTER: &[&str] = &[
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "1000",
    "--cluster-replica-validity-factor",
    "0",
];

/// Makes the user of the DSN, whom a server that was restarted has forgotten.
pub fn let_in(server: &RedisServer) {
    server.command(&[&["ACL"], user_words().as_slice()].concat());
}

/// What makes the user: one who may do what a limiter needs and nothing else.
pub fn user_words() -> Vec<&'static str> {
    let mut words = vec![
        "SETUSER",
        USER,
        "reset",
        "on",
        ">correct-horse",
        "~sluice:*",
    ];
    words.extend(RIGHTS);
    words
}

/// All that a limiter needs: `docs/topologies.md` has the same.
const RIGHTS: &[&str] = &[
    "+evalsha",
    "+script|load",
    "+select",
    "+role",
    "+cluster|slots",
    "+asking",
    "+time",
    "+get",
    "+set",
    "+del",
    "+pexpire",
    "+zadd",
    "+zcount",
    "+zrem",
    "+zscore",
    "+zrevrange",
    "+zremrangebyscore",
];

fn is_master(server: &RedisServer) -> bool {
    server.command(&["ROLE"]).starts_with("master")
}

fn is_linked(server: &RedisServer) -> bool {
    let info = server.command(&["INFO", "replication"]);
    info.contains("role:slave") && info.contains("master_link_status:up")
}

fn is_well_in_cluster(server: &RedisServer) -> bool {
    let info = server.command(&["CLUSTER", "INFO"]);
    let nodes = server.command(&["CLUSTER", "NODES"]);
    info.contains("cluster_state:ok")
        && info.contains("cluster_slots_ok:16384")
        && nodes.lines().filter(|line| line.contains("slave")).count() == 3
        && !nodes.contains("fail")
        && !nodes.contains("handshake")
        && (is_master(server) || is_linked(server))
}

/// Waits for something that servers do in their own time.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A Sentinel with files of its own. Dropping it kills it.
pub struct Sentinel {
    /// Where it listens, on 127.0.0.1.
    pub port: u16,
    child: Child,
    _dir: TempDir,
}

impl Sentinel {
    /// One that watches a master, with so many needed to call it lost, and
    /// more lines of configuration, in which PORT is its port.
    pub fn of(master: u16, quorum: u32, more: &str) -> Self {
        let dir = TempDir::new().expect("a directory for a Sentinel");
        let port = free_port();
        let config = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\n\
             sentinel monitor the-master 127.0.0.1 {master} {quorum}\n\
             sentinel down-after-milliseconds the-master 1000\n\
             sentinel failover-timeout the-master 2000\n{more}\n",
            dir.path().display()
        );
        let config = config.replace("PORT", &port.to_string());
        let file = dir.path().join("sentinel.conf");
        std::fs::write(&file, config).expect("a file");
        let child = Command::new(program())
            .arg(&file)
            .arg("--sentinel")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let sentinel = Self {
            port,
            child,
            _dir: dir,
        };
        wait_for("a Sentinel", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        sentinel
    }

    /// What it says, a line for each part.
    fn ask(&self, words: &[&str]) -> String {
        let ask = || -> redis::RedisResult<redis::Value> {
            let url = format!("redis://127.0.0.1:{}", self.port);
            let mut connection = redis::Client::open(url)?.get_connection()?;
            redis::cmd(words[0]).arg(&words[1..]).query(&mut connection)
        };
        match ask() {
            Ok(reply) => crate::support::redis_server::shown(&reply),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        // Only fails for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
