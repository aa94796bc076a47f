//! Redis: one connection per worker and DSN, one script call per decision.

mod connection;
mod dsn;
mod resolver;
mod scripts;
mod wire;

pub use dsn::{Address, Dsn, DsnError, Secret};
pub use scripts::Scripts;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher13;

use self::connection::Connection;
use self::resolver::Resolver;
use super::{Answer, Fault, Question, Source, Status, Store};
use crate::limit::{Ask, Decision, Key, Kind, Limit, Micros};

/// How often this process was forked off another.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// To be called in every child after a fork: what was connected before belongs
/// to the parent.
pub fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Keys up to this many bytes stand in Redis as they are, so that an operator
/// can read them; longer ones by their SHA-256.
const LONGEST_PLAIN_KEY: usize = 200;

/// The store on one Redis server.
pub struct Redis {
    dsn: Dsn,
    scripts: Rc<Scripts>,
    budget: Budget,
    inner: RefCell<Inner>,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The whole call, with everything in it.
    pub timeout: Duration,
    /// The part of it that resolving and connecting may use.
    pub connect: Duration,
}

#[derive(Default)]
struct Inner {
    connection: Option<Connection>,
    resolver: Resolver,
    /// [`FORKS`] when the two were made.
    forks: u32,
    /// The key under which state is kept, written anew for each call.
    key: Vec<u8>,
    connections: u64,
    calls: u64,
    faults: u64,
    last_fault: Option<String>,
}

/// How the connection of this worker does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionStatus {
    /// The DSN, without its password.
    pub dsn: String,
    /// Whether a connection is open now.
    pub connected: bool,
    /// Connections opened by this worker so far.
    pub connections: u64,
    /// Calls answered or not.
    pub calls: u64,
    /// Calls that Redis did not answer in time, or with an error.
    pub faults: u64,
    /// What the last fault was.
    pub last_fault: Option<String>,
}

impl Redis {
    /// The store behind this DSN. Nothing is connected before the first call.
    ///
    /// The DSN's own times win over `budget`.
    pub fn new(dsn: Dsn, budget: Budget) -> Self {
        Self::with_scripts(dsn, budget, Scripts::standard())
    }

    /// The same with other scripts: tests inject time there.
    pub fn with_scripts(dsn: Dsn, budget: Budget, scripts: Rc<Scripts>) -> Self {
        let timeout = dsn.timeout.unwrap_or(budget.timeout);
        let connect = dsn.connect_timeout.unwrap_or(budget.connect).min(timeout);
        Self {
            budget: Budget { timeout, connect },
            dsn,
            scripts,
            inner: RefCell::default(),
        }
    }

    /// The DSN of this store.
    pub fn dsn(&self) -> &Dsn {
        &self.dsn
    }

    /// Runs `call` on a live connection within the budget, and drops the
    /// connection if anything goes wrong: what it would say next is unknown.
    fn with_connection<T>(
        &self,
        key: Key<'_>,
        limit: &Limit,
        call: impl FnOnce(&mut Connection, &[u8], Instant) -> Result<T, String>,
    ) -> Result<T, Fault> {
        let inner = &mut *self.inner.borrow_mut();
        let started = Instant::now();
        let deadline = started + self.budget.timeout;
        inner.calls += 1;
        self.write_key(&mut inner.key, key, limit);

        let forks = FORKS.load(Ordering::Relaxed);
        if inner.forks != forks {
            inner.forks = forks;
            inner.connection = None;
            inner.resolver.abandon();
        }
        let kept = inner.connection.take().and_then(Connection::if_usable);
        let opened = if let Some(connection) = kept {
            Ok(connection)
        } else {
            let connect_by = started + self.budget.connect;
            Connection::open(&self.dsn, &mut inner.resolver, &self.scripts, connect_by)
                .inspect(|_| inner.connections += 1)
        };
        let result = opened.and_then(|mut connection| {
            let answer = call(&mut connection, &inner.key, deadline)?;
            inner.connection = Some(connection);
            Ok(answer)
        });
        result.map_err(|what| {
            let message = format!("{}: {what}", self.dsn);
            inner.faults += 1;
            inner.last_fault = Some(message.clone());
            Fault::new(message)
        })
    }

    /// `prefix{tag}kind:window:name length:name:marker:key`.
    ///
    /// The tag keeps all limits of one key in one slot of a Cluster. It is a
    /// hash, because a key may be empty or hold braces; that two keys may share
    /// a tag does not matter.
    fn write_key(&self, into: &mut Vec<u8>, key: Key<'_>, limit: &Limit) {
        use std::hash::Hasher;
        use std::io::Write;

        let mut tag = SipHasher13::new();
        tag.write(key.bytes);
        let identity = limit.identity();
        into.clear();
        into.extend_from_slice(self.dsn.prefix.as_deref().unwrap_or(b"sluice:"));
        // Writing to a Vec cannot fail.
        let _ = write!(
            into,
            "{{{:016x}}}{}:{}:{}:",
            tag.finish(),
            identity.letter() as char,
            identity.window(),
            key.name.len()
        );
        into.extend_from_slice(key.name);
        if key.bytes.len() <= LONGEST_PLAIN_KEY {
            into.extend_from_slice(b":=");
            into.extend_from_slice(key.bytes);
        } else {
            let _ = write!(into, ":#{:x}", Sha256::digest(key.bytes));
        }
    }
}

impl Store for Redis {
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault> {
        let Question {
            key, limit, ask, ..
        } = *question;
        if limit.size() == 0 {
            // Nothing there could change the answer.
            return Ok(Answer {
                decision: decide_untouched(limit, ask),
                source: Source::Redis,
            });
        }
        let decision = self.with_connection(key, limit, |connection, key, deadline| {
            let [allowed, remaining, retry, reset] = match limit {
                Limit::TokenBucket(bucket) => {
                    let rate = bucket.rate().ok_or("a bucket without a rate")?;
                    let numbers = [rate.tokens(), rate.period(), bucket.capacity().into()];
                    connection.evaluate(&self.scripts.token_bucket, key, &numbers, ask, deadline)
                }
                Limit::FixedWindow(window) => {
                    let numbers = [window.limit().into(), window.length().0];
                    connection.evaluate(&self.scripts.fixed_window, key, &numbers, ask, deadline)
                }
            }?;
            Ok(Decision {
                allowed: allowed == 1,
                limit: limit.size(),
                remaining: u32::try_from(remaining).map_err(|_| "a reply out of range")?,
                retry_after: u64::try_from(retry).ok().map(Micros),
                reset_after: Micros(u64::try_from(reset).map_err(|_| "a reply out of range")?),
            })
        })?;
        Ok(Answer {
            decision,
            source: Source::Redis,
        })
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        self.with_connection(key, limit, Connection::delete)
    }

    fn status(&self) -> Status {
        let inner = self.inner.borrow();
        Status {
            redis: Some(ConnectionStatus {
                dsn: self.dsn.to_string(),
                connected: inner.connection.is_some(),
                connections: inner.connections,
                calls: inner.calls,
                faults: inner.faults,
                last_fault: inner.last_fault.clone(),
            }),
            ..Status::default()
        }
    }
}

fn decide_untouched(limit: &Limit, ask: Ask) -> Decision {
    match limit {
        Limit::TokenBucket(kind) => kind.decide(None, Micros::ZERO, ask).decision,
        Limit::FixedWindow(kind) => kind.decide(None, Micros::ZERO, ask).decision,
    }
}
