//! One connection: opened once, asked many times, dropped at the first doubt.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use redis::{Cmd, ErrorKind as RedisErrorKind, RedisError, Value};

use super::dsn::{Address, Dsn};
use super::resolver::Resolver;
use super::scripts::{Script, Scripts};
use super::wire::Wire;

/// A connection this old is looked at before use: servers and proxies close
/// idle ones.
const IDLE: Duration = Duration::from_secs(1);

/// An open connection with its scripts loaded.
pub struct Connection {
    wire: Wire,
    last_used: Instant,
    /// Numbers the calls; each reply brings its call's number back. The upper
    /// bits are the connection's own, so that not even a proxy that mixes up
    /// its clients could pass one's reply off as another's.
    sequence: u64,
    command: Cmd,
    bytes: Vec<u8>,
}

impl Connection {
    /// Connects, introduces itself, chooses the database and loads the scripts,
    /// all in one round trip.
    ///
    /// # Errors
    /// In words, without the password.
    pub fn open(
        dsn: &Dsn,
        resolver: &mut Resolver,
        scripts: &Scripts,
        deadline: Instant,
    ) -> Result<Self, String> {
        let wire = match &dsn.address {
            Address::Unix(path) => Wire::unix(path, deadline),
            Address::Tcp { host, port } => {
                let addresses = resolver
                    .resolve(host, *port, deadline)
                    .map_err(|error| format!("cannot resolve the host: {}", describe(&error)))?;
                match connect(&addresses, deadline) {
                    Ok((wire, address)) => {
                        resolver.remember(address);
                        Ok(wire)
                    }
                    Err(error) => {
                        resolver.forget();
                        Err(error)
                    }
                }
            }
        }
        .map_err(|error| format!("cannot connect: {}", describe(&error)))?;
        let mut connection = Self {
            wire,
            last_used: Instant::now(),
            sequence: first_number(),
            command: Cmd::new(),
            bytes: Vec::with_capacity(512),
        };
        connection.introduce(dsn, scripts, deadline)?;
        Ok(connection)
    }

    fn introduce(&mut self, dsn: &Dsn, scripts: &Scripts, deadline: Instant) -> Result<(), String> {
        let mut bytes = Vec::new();
        let mut steps: Vec<(&str, &str)> = Vec::new();
        let mut queue = |step, expected, command: &Cmd| {
            command.write_packed_command(&mut bytes);
            steps.push((step, expected));
        };
        if let Some(password) = &dsn.password {
            let mut auth = redis::cmd("AUTH");
            if let Some(user) = &dsn.user {
                auth.arg(user);
            }
            queue("AUTH", "OK", auth.arg(password.reveal()));
        }
        if dsn.database != 0 {
            queue("SELECT", "OK", redis::cmd("SELECT").arg(dsn.database));
        }
        for script in scripts.singles() {
            let mut load = redis::cmd("SCRIPT");
            queue(
                "SCRIPT LOAD",
                &script.sha,
                load.arg("LOAD").arg(&script.source),
            );
        }
        self.wire
            .send(&bytes, deadline)
            .map_err(|error| format!("cannot introduce itself: {}", describe(&error)))?;
        for (step, expected) in steps {
            let reply = self.receive(deadline)?;
            let matches = match &reply {
                Value::Okay => expected == "OK",
                Value::BulkString(sha) => sha == expected.as_bytes(),
                _ => false,
            };
            if !matches {
                return Err(format!("{step} was answered with {}", show(&reply)));
            }
        }
        Ok(())
    }

    /// This connection, if a call can still be made on it.
    pub fn if_usable(self) -> Option<Self> {
        (self.last_used.elapsed() < IDLE || self.wire.is_quiet()).then_some(self)
    }

    /// Runs a script. `write` adds its arguments, behind which the call's
    /// number goes; the reply has that number in front and `length` numbers in
    /// all.
    ///
    /// # Errors
    /// In words. The connection must not be used again.
    pub fn evaluate(
        &mut self,
        script: &Script,
        keys: &[Vec<u8>],
        write: impl FnOnce(&mut Cmd),
        length: usize,
        deadline: Instant,
    ) -> Result<Vec<i64>, String> {
        self.sequence += 1;
        self.command.clear();
        self.command.arg("EVALSHA").arg(&script.sha).arg(keys.len());
        for key in keys {
            self.command.arg(key.as_slice());
        }
        write(&mut self.command);
        self.command.arg(self.sequence);

        let mut reply = self.round_trip(deadline)?;
        if matches!(&reply, Value::ServerError(error) if error.code() == "NOSCRIPT") {
            // The one error after which the same call may be sent again: the
            // server says that it ran nothing.
            let call = std::mem::take(&mut self.command);
            self.load(script, deadline)?;
            self.command = call;
            reply = self.round_trip(deadline)?;
        }
        let values = match reply {
            Value::Array(values) => values,
            other => return Err(format!("answered with {}", show(&other))),
        };
        let numbers: Vec<i64> = values
            .iter()
            .filter_map(|value| match value {
                Value::Int(number) => Some(*number),
                _ => None,
            })
            .collect();
        if numbers.len() == length && values.len() == length && numbers[0] == self.sequence as i64 {
            Ok(numbers)
        } else {
            Err("the reply belongs to another call".into())
        }
    }

    /// Deletes one key.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn delete(&mut self, key: &[u8], deadline: Instant) -> Result<(), String> {
        self.command.clear();
        self.command.arg("DEL").arg(key);
        match self.round_trip(deadline)? {
            Value::Int(0 | 1) => Ok(()),
            other => Err(format!("DEL was answered with {}", show(&other))),
        }
    }

    fn load(&mut self, script: &Script, deadline: Instant) -> Result<(), String> {
        self.command.clear();
        self.command.arg("SCRIPT").arg("LOAD").arg(&script.source);
        match self.round_trip(deadline)? {
            Value::BulkString(sha) if sha == script.sha.as_bytes() => Ok(()),
            other => Err(format!("SCRIPT LOAD was answered with {}", show(&other))),
        }
    }

    fn round_trip(&mut self, deadline: Instant) -> Result<Value, String> {
        self.bytes.clear();
        self.command.write_packed_command(&mut self.bytes);
        self.wire
            .send(&self.bytes, deadline)
            .map_err(|error| format!("cannot send: {}", describe(&error)))?;
        let reply = self.receive(deadline)?;
        self.last_used = Instant::now();
        Ok(reply)
    }

    fn receive(&mut self, deadline: Instant) -> Result<Value, String> {
        self.wire
            .receive(deadline)
            .map_err(|error| format!("no reply: {}", describe_reply(&error)))
    }
}

/// Connects to the first of a host's addresses that answers: a server often
/// listens on one of the families only. Each gets its share of the time, so
/// that one which swallows packets leaves some for the next.
fn connect(addresses: &[SocketAddr], deadline: Instant) -> io::Result<(Wire, SocketAddr)> {
    let mut last = io::Error::from(ErrorKind::NotFound);
    for (index, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now);
        let share = left / (addresses.len() - index) as u32;
        match Wire::tcp(*address, now + share) {
            Ok(wire) => return Ok((wire, *address)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Where a connection starts to number its calls: random bits above 32, below
/// the 53 that a double of Lua can hold.
fn first_number() -> u64 {
    let random = RandomState::new().hash_one(std::process::id());
    (random >> 43) << 32
}

fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "the time was up".into(),
        _ => error.to_string(),
    }
}

fn describe_reply(error: &RedisError) -> String {
    if error.is_timeout() {
        "the time was up".into()
    } else if error.kind() == RedisErrorKind::Io {
        "the server closed the connection".into()
    } else {
        "what came is not a reply of Redis".into()
    }
}

/// A reply in an error message: the server's own words if it is an error,
/// cut short, or only its type, since anything could be in it.
fn show(reply: &Value) -> String {
    match reply {
        Value::ServerError(error) => {
            let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
            text.chars().take(200).collect()
        }
        Value::Array(values) => format!("{} values", values.len()),
        Value::Nil => "nothing".into(),
        _ => "something unexpected".into(),
    }
}
