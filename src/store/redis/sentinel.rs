//! A master that Sentinels name.
//!
//! They are asked in turn, whoever answered last first, and only when there is
//! no master one can call: at first, and after any trouble with it.

use std::time::Instant;

use redis::Value;

use super::connection::{Connection, Greeting};
use super::dsn::{Address, Login};
use super::link::{Link, Way};
use super::trouble::{Kind, Trouble};
use super::wire::LONGEST_REPLY;

/// The Sentinels, and the master they named last.
pub struct Sentinels {
    /// The next to be asked stands first.
    queue: Vec<Link>,
    name: String,
    login: Login,
    master: Option<Link>,
}

impl Sentinels {
    pub fn new(sentinels: &[Address], name: &str, login: &Login) -> Self {
        Self {
            queue: sentinels.iter().cloned().map(Link::to).collect(),
            name: name.to_owned(),
            login: login.clone(),
            master: None,
        }
    }

    pub fn abandon(&mut self) {
        self.queue.iter_mut().for_each(Link::abandon);
        self.master.iter_mut().for_each(Link::abandon);
    }

    pub fn master(&self) -> Option<&Link> {
        self.master.as_ref()
    }

    /// Runs `call` on the master.
    pub fn call<T>(
        &mut self,
        way: &mut Way<'_>,
        mut call: impl FnMut(&mut Connection) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if let Some(master) = &mut self.master {
            let trouble = match master.call(way, true, &mut call) {
                Err(trouble) if trouble.kind != Kind::Apart => trouble,
                result => return result,
            };
            // Whatever it was, it may be that another is the master now.
            self.master = None;
            if !matches!(trouble.kind, Kind::Unreachable | Kind::NotMaster) {
                return Err(trouble);
            }
        }
        let mut said = Vec::new();
        for asked in 1..=self.queue.len() {
            let last = asked == self.queue.len();
            let until = share(way.connect_by, last);
            let trouble = match self.ask_first(way, until) {
                Ok(address) => {
                    let mut master = Link::to(address);
                    let connect_by = std::mem::replace(&mut way.connect_by, until);
                    let result = master.call(way, true, &mut call);
                    way.connect_by = connect_by;
                    match result {
                        // A Sentinel that was away may name the one of before.
                        Err(trouble) if trouble.kind == Kind::Unreachable => {
                            format!("it names {}: {}", master.address, trouble.what)
                        }
                        result => {
                            if result.is_ok() {
                                self.master = Some(master);
                            }
                            return result;
                        }
                    }
                }
                Err(trouble) => trouble.what,
            };
            said.push(format!("{}: {trouble}", self.queue[0].address));
            self.queue.rotate_left(1);
        }
        Err(Trouble::unreachable(format!(
            "no Sentinel leads to a master ({})",
            said.join("; ")
        )))
    }

    /// Asks the first Sentinel for the master.
    fn ask_first(&mut self, way: &mut Way<'_>, until: Instant) -> Result<Address, Trouble> {
        let greeting = Greeting {
            login: &self.login,
            database: 0,
            scripts: &[],
            master_only: false,
        };
        let words = ["SENTINEL", "get-master-addr-by-name", &self.name];
        let reply =
            self.queue[0]
                .greet(way, &greeting, until)?
                .ask(&words, LONGEST_REPLY, until)?;
        match reply {
            Value::Nil => Err(Trouble::last(format!(
                "it knows no master named {}",
                self.name
            ))),
            Value::Array(parts) => match parts.as_slice() {
                [Value::BulkString(host), Value::BulkString(port)] => address(host, port),
                _ => None,
            }
            .ok_or_else(|| Trouble::last("it names no address")),
            other => Err(Trouble::of_reply("", &other)),
        }
    }
}

/// Until when one of several may be tried: half of what is left, so that any
/// number of dead ones leaves time for the next. The last has all of it.
pub fn share(deadline: Instant, last: bool) -> Instant {
    let now = Instant::now();
    let left = deadline.saturating_duration_since(now);
    now + if last { left } else { left / 2 }
}

/// Reads a host and a port.
fn address(host: &[u8], port: &[u8]) -> Option<Address> {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    Some(Address::Tcp {
        host: text(host).filter(|host| !host.is_empty())?.to_owned(),
        port: text(port)?.parse().ok()?,
    })
}
