//! A Redis of the test's own: started for it, stopped with it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use redis::{Connection, Value};
use sluice::store::redis::{Budget, Dsn};
use tempfile::TempDir;

/// More time than any call here should need, for tests that want no timeouts.
pub const PATIENT: Budget = Budget {
    timeout: Duration::from_secs(10),
    connect: Some(Duration::from_secs(5)),
};

/// A running server without persistence. Dropping it kills it.
pub struct RedisServer {
    /// Holds the socket, and is the server's working directory.
    dir: TempDir,
    port: Option<u16>,
    options: Vec<String>,
    child: Child,
}

impl RedisServer {
    /// A server on a Unix socket only.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with more command-line options.
    pub fn start_with(options: &[&str]) -> Self {
        Self::launch(None, options)
    }

    /// A server on a Unix socket and on a port of the loopback device.
    pub fn start_tcp() -> Self {
        Self::start_tcp_with(&[])
    }

    /// The same with more command-line options.
    pub fn start_tcp_with(options: &[&str]) -> Self {
        Self::launch(Some(free_port()), options)
    }

    fn launch(port: Option<u16>, options: &[&str]) -> Self {
        let dir = TempDir::new().expect("a directory for the server");
        let options: Vec<_> = options.iter().map(ToString::to_string).collect();
        let child = spawn(&dir, port, &options);
        let mut server = Self {
            dir,
            port,
            options,
            child,
        };
        server.wait_until_it_answers();
        server
    }

    /// The path of the server's socket.
    pub fn socket(&self) -> PathBuf {
        socket_in(&self.dir)
    }

    /// Where it is, over the Unix socket.
    pub fn dsn(&self) -> Dsn {
        self.dsn_with("")
    }

    /// The same with options such as `?db=1`.
    pub fn dsn_with(&self, options: &str) -> Dsn {
        parse(&format!("unix://{}{options}", self.socket().display()))
    }

    /// Where it is, over TCP.
    pub fn tcp_dsn(&self) -> Dsn {
        let port = self.port.expect("started with a port");
        parse(&format!("redis://127.0.0.1:{port}"))
    }

    /// The port it was started with.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Its working directory.
    pub fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// A connection that the store under test knows nothing of.
    pub fn connect(&self) -> Connection {
        self.try_connect().expect("a connection to the server")
    }

    fn try_connect(&self) -> redis::RedisResult<Connection> {
        redis::Client::open(format!("redis+unix://{}", self.socket().display()))?.get_connection()
    }

    /// Sends one command by itself and shows its reply.
    pub fn command(&self, words: &[&str]) -> String {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        match command.query(&mut self.connect()) {
            Ok(reply) => shown(&reply),
            Err(error) => panic!("{words:?} was answered with {error}"),
        }
    }

    /// How many calls of a command the server has counted, and how many of them
    /// it rejected or failed.
    pub fn calls_of(&self, command: &str) -> Calls {
        let stats = self.command(&["INFO", "commandstats"]);
        let prefix = format!("cmdstat_{command}:");
        let line = stats.lines().find_map(|line| line.strip_prefix(&prefix));
        let field = |name: &str| {
            line.into_iter()
                .flat_map(|line| line.split(','))
                .find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
                .map_or(0, |number| number.parse().expect("a number"))
        };
        Calls {
            all: field("calls"),
            failed: field("failed_calls"),
        }
    }

    /// One number out of `INFO stats`.
    pub fn stat(&self, name: &str) -> u64 {
        let stats = self.command(&["INFO", "stats"]);
        stats
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .and_then(|number| number.trim().parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {stats}"))
    }

    /// Lets the server stand still without closing anything.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Kills the server. Its socket file stays behind, as after a crash.
    pub fn stop(&mut self) {
        // Only fails for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills the server and starts another in its place, which knows nothing
    /// but what is in its directory.
    pub fn restart_empty(&mut self) {
        self.restart_with(&[]);
    }

    /// The same with more options, this time only. It may be one that does not
    /// answer yet.
    pub fn restart_with(&mut self, options: &[&str]) {
        self.stop();
        let once: Vec<_> = options.iter().map(ToString::to_string).collect();
        let all = [self.options.clone(), once].concat();
        let _ = std::fs::remove_file(self.socket());
        self.child = spawn(&self.dir, self.port, &all);
        self.wait_until_it_answers();
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"));
        kill(pid, signal).expect("our own child takes signals");
    }

    fn wait_until_it_answers(&mut self) {
        let give_up = Instant::now() + Duration::from_secs(20);
        loop {
            let answer: redis::RedisResult<String> = self
                .try_connect()
                .and_then(|mut connection| redis::cmd("PING").query(&mut connection));
            match answer {
                Ok(_) => return,
                // It answers, if only that it is busy or wants a password.
                Err(error) if !error.is_io_error() => return,
                Err(error) if Instant::now() > give_up => panic!("no redis-server: {error}"),
                Err(_) => {}
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("redis-server ended at once: {status}");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How often a command was called.
#[derive(Debug, PartialEq, Eq)]
pub struct Calls {
    /// All calls.
    pub all: u64,
    /// Those of them that ended in an error.
    pub failed: u64,
}

/// The server's program: that of the system, or another one to be tried.
pub fn program() -> String {
    std::env::var("SLUICE_REDIS_SERVER").unwrap_or_else(|_| "redis-server".into())
}

/// A port of the loopback device that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port()
}

fn spawn(dir: &TempDir, port: Option<u16>, options: &[String]) -> Child {
    Command::new(program())
        .current_dir(dir.path())
        .args(["--port", &port.unwrap_or(0).to_string()])
        .args(["--bind", "127.0.0.1"])
        .arg("--unixsocket")
        .arg(socket_in(dir))
        .args(["--save", "", "--appendonly", "no"])
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server is installed")
}

fn socket_in(dir: &TempDir) -> PathBuf {
    dir.path().join("redis.sock")
}

fn parse(text: &str) -> Dsn {
    Dsn::parse(text).expect("a DSN")
}

/// A reply as text, a line for each part.
pub fn shown(reply: &Value) -> String {
    match reply {
        Value::Okay => "OK".into(),
        Value::Nil => "nil".into(),
        Value::Int(int) => int.to_string(),
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join("\n"),
        other => format!("{other:?}"),
    }
}
