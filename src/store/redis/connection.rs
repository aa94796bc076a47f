//! One connection: opened once, asked many times, dropped at the first doubt.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use redis::{Cmd, Value};

use super::dsn::Login;
use super::scripts::Script;
use super::trouble::{Kind, Trouble, describe, is_no_script};
use super::wire::{LONGEST_REPLY, Wire};

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
    /// Whether the next script is asked for a slot that is on its way here.
    pub asking: bool,
}

/// What is said first on a connection.
pub struct Greeting<'a> {
    pub login: &'a Login,
    pub database: u32,
    pub scripts: &'a [Script],
    /// Whether a server that is no master is left again.
    pub master_only: bool,
}

impl Connection {
    /// Introduces itself, chooses the database and loads the scripts, all in
    /// one round trip.
    ///
    /// # Errors
    /// In words, without the password.
    pub fn open(wire: Wire, greeting: &Greeting<'_>, deadline: Instant) -> Result<Self, Trouble> {
        let mut connection = Self {
            wire,
            last_used: Instant::now(),
            sequence: first_number(),
            command: Cmd::new(),
            bytes: Vec::with_capacity(512),
            asking: false,
        };
        connection
            .greet(greeting, deadline)
            .map_err(|trouble| Trouble {
                kind: Kind::Unreachable,
                ..trouble
            })?;
        Ok(connection)
    }

    fn greet(&mut self, greeting: &Greeting<'_>, deadline: Instant) -> Result<(), Trouble> {
        let mut bytes = Vec::new();
        let mut steps: Vec<(&str, &str)> = Vec::new();
        let mut queue = |step, expected, command: &Cmd| {
            command.write_packed_command(&mut bytes);
            steps.push((step, expected));
        };
        if let Some(password) = &greeting.login.password {
            let mut auth = redis::cmd("AUTH");
            if let Some(user) = &greeting.login.user {
                auth.arg(user);
            }
            queue("AUTH was ", "OK", auth.arg(password.reveal()));
        }
        if greeting.master_only {
            queue("ROLE was ", "master", &redis::cmd("ROLE"));
        }
        if greeting.database != 0 {
            let mut select = redis::cmd("SELECT");
            queue("SELECT was ", "OK", select.arg(greeting.database));
        }
        for script in greeting.scripts {
            let mut load = redis::cmd("SCRIPT");
            load.arg("LOAD").arg(&script.source);
            queue("SCRIPT LOAD was ", &script.sha, &load);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.wire.send(&bytes, deadline).map_err(|error| {
            Trouble::last(format!("cannot introduce itself: {}", describe(&error)))
        })?;
        for (step, expected) in steps {
            let reply = self.receive(LONGEST_REPLY, deadline)?;
            let fits = match &reply {
                Value::Okay => expected == "OK",
                Value::BulkString(sha) => sha == expected.as_bytes(),
                Value::Array(role) if expected == "master" => {
                    if !is_master(role) {
                        return Err(Trouble::last("it is no master"));
                    }
                    true
                }
                // A user who may not ask finds out at the first write.
                Value::ServerError(error) => expected == "master" && error.code() == "NOPERM",
                _ => false,
            };
            if !fits {
                return Err(Trouble::of_reply(step, &reply));
            }
        }
        Ok(())
    }

    /// This connection, if a call can still be made on it.
    pub fn if_usable(mut self) -> Option<Self> {
        (self.last_used.elapsed() < IDLE || self.wire.is_quiet()).then_some(self)
    }

    /// Runs a script. `write` adds its arguments, behind which the call's
    /// number goes; the reply has that number in front and at least `length`
    /// numbers in all.
    ///
    /// # Errors
    /// In words. The connection must not be used again, but after one that
    /// says that nothing ran.
    pub fn evaluate(
        &mut self,
        script: &Script,
        keys: &[Vec<u8>],
        write: impl FnOnce(&mut Cmd),
        length: usize,
        deadline: Instant,
    ) -> Result<Vec<i64>, Trouble> {
        self.sequence += 1;
        self.command.clear();
        self.command.arg("EVALSHA").arg(&script.sha).arg(keys.len());
        for key in keys {
            self.command.arg(key.as_slice());
        }
        write(&mut self.command);
        self.command.arg(self.sequence);

        let mut reply = self.script_round_trip(deadline)?;
        if matches!(reply, Value::ServerError(_)) {
            reply = self.after_error(script, &reply, deadline)?;
        }
        self.asking = false;
        let values = match reply {
            Value::Array(values) => values,
            other => return Err(Trouble::of_reply("", &other).and_no_more()),
        };
        let numbers: Vec<i64> = values
            .iter()
            .filter_map(|value| match value {
                Value::Int(number) => Some(*number),
                _ => None,
            })
            .collect();
        let whole = numbers.len() >= length && numbers.len() == values.len();
        if whole && numbers[0] == self.sequence as i64 {
            Ok(numbers)
        } else {
            Err(Trouble::last("the reply belongs to another call"))
        }
    }

    /// What to make of an error that a script was answered with.
    ///
    /// Some say that nothing ran, so that the same call may be sent once more.
    /// But an error bears no number, and one that belonged to another call
    /// would have this one run twice. So the script is loaded behind it: where
    /// that is what is answered next, the error was the answer to this call.
    fn after_error(
        &mut self,
        script: &Script,
        error: &Value,
        deadline: Instant,
    ) -> Result<Value, Trouble> {
        let unknown = is_no_script(error);
        let trouble = Trouble::of_reply("", error);
        if trouble.kind == Kind::Final && !unknown {
            return Err(trouble);
        }
        let call = std::mem::take(&mut self.command);
        let loaded = self.load(script, deadline);
        self.command = call;
        match loaded {
            Ok(()) if unknown => self.script_round_trip(deadline),
            Ok(()) => Err(trouble),
            Err(loading) if unknown => Err(loading.and_no_more()),
            Err(_) => Err(trouble.and_no_more()),
        }
    }

    /// Deletes one key.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn delete(&mut self, key: &[u8], deadline: Instant) -> Result<(), Trouble> {
        self.command.clear();
        self.command.arg("DEL").arg(key);
        match self.script_round_trip(deadline)? {
            Value::Int(0 | 1) => Ok(()),
            other => Err(Trouble::of_reply("DEL was ", &other)),
        }
    }

    /// Asks something of which the answer is not a script's.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn ask(
        &mut self,
        words: &[&str],
        longest: usize,
        deadline: Instant,
    ) -> Result<Value, Trouble> {
        self.command.clear();
        for word in words {
            self.command.arg(word);
        }
        self.round_trip(longest, deadline)
    }

    fn load(&mut self, script: &Script, deadline: Instant) -> Result<(), Trouble> {
        self.command.clear();
        self.command.arg("SCRIPT").arg("LOAD").arg(&script.source);
        match self.round_trip(LONGEST_REPLY, deadline)? {
            Value::BulkString(sha) if sha == script.sha.as_bytes() => Ok(()),
            other => Err(Trouble::of_reply("SCRIPT LOAD was ", &other)),
        }
    }

    /// Sends the command, behind ASKING if it is for a slot on its way.
    fn script_round_trip(&mut self, deadline: Instant) -> Result<Value, Trouble> {
        if !self.asking {
            return self.round_trip(LONGEST_REPLY, deadline);
        }
        self.bytes.clear();
        redis::cmd("ASKING").write_packed_command(&mut self.bytes);
        self.command.write_packed_command(&mut self.bytes);
        self.send(deadline)?;
        match self.receive(LONGEST_REPLY, deadline)? {
            Value::Okay => self.receive(LONGEST_REPLY, deadline),
            other => Err(Trouble::of_reply("ASKING was ", &other).and_no_more()),
        }
    }

    fn round_trip(&mut self, longest: usize, deadline: Instant) -> Result<Value, Trouble> {
        self.bytes.clear();
        self.command.write_packed_command(&mut self.bytes);
        self.send(deadline)?;
        self.receive(longest, deadline)
    }

    fn send(&mut self, deadline: Instant) -> Result<(), Trouble> {
        self.wire
            .send(&self.bytes, deadline)
            .map_err(|error| Trouble::of_sending(&error))
    }

    fn receive(&mut self, longest: usize, deadline: Instant) -> Result<Value, Trouble> {
        let reply = self
            .wire
            .receive(longest, deadline)
            .map_err(|error| Trouble::of_receiving(&error))?;
        self.last_used = Instant::now();
        Ok(reply)
    }
}

fn is_master(role: &[Value]) -> bool {
    match role.first() {
        Some(Value::BulkString(word)) => word == b"master",
        Some(Value::SimpleString(word)) => word == "master",
        _ => false,
    }
}

/// Where a connection starts to number its calls: random bits above 32, below
/// the 53 that a double of Lua can hold.
fn first_number() -> u64 {
    let random = RandomState::new().hash_one(std::process::id());
    (random >> 43) << 32
}
