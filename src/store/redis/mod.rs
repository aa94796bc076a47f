//! Redis: one connection per worker and DSN, one script call per decision.

mod connection;
mod dsn;
mod questions;
mod resolver;
mod scripts;
mod wire;

pub use dsn::{Address, Dsn, DsnError, Secret};
pub use scripts::Scripts;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher13;

use self::connection::Connection;
use self::questions::{MOST, answer_of, arguments};
use self::resolver::Resolver;
use self::scripts::Body;
use super::{Answer, Fault, Held, Permit, Question, Source, Status, Store, composite, fork};
use crate::limit::{Identity, Key, Limit, Micros, Mode};

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
    /// [`fork::forks`] when the two were made.
    forks: u32,
    /// The keys under which states are kept, written anew for each call.
    keys: Vec<Vec<u8>>,
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
        named: &[(Key<'_>, Identity<'_>)],
        call: impl FnOnce(&mut Connection, &[Vec<u8>], Instant) -> Result<T, String>,
    ) -> Result<T, Fault> {
        let inner = &mut *self.inner.borrow_mut();
        let started = Instant::now();
        let deadline = started + self.budget.timeout;
        inner.calls += 1;
        // One buffer per key, kept: a decision allocates none of them.
        if inner.keys.len() < named.len() {
            inner.keys.resize(named.len(), Vec::new());
        }
        for (into, (key, identity)) in inner.keys.iter_mut().zip(named) {
            self.write_key(into, *key, *identity);
        }

        let forks = fork::forks();
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
            let answer = call(&mut connection, &inner.keys[..named.len()], deadline)?;
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
    fn write_key(&self, into: &mut Vec<u8>, key: Key<'_>, identity: Identity<'_>) {
        use std::hash::Hasher;
        use std::io::Write;

        let mut tag = SipHasher13::new();
        tag.write(key.bytes);
        into.clear();
        into.extend_from_slice(self.dsn.prefix.as_deref().unwrap_or(b"sluice:"));
        // Writing to a Vec cannot fail.
        let _ = write!(
            into,
            "{{{:016x}}}{}:{}{}:{}:",
            tag.finish(),
            identity.letter as char,
            identity.window,
            identity.zone,
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
        let (mode, extra) = match question.ask.mode {
            Mode::Take => ("take", 0),
            Mode::Peek => ("peek", 0),
            Mode::Charge => ("charge", 0),
            Mode::Reserve(max_wait) => ("reserve", max_wait.0),
        };
        let mut answers = self.evaluate(std::slice::from_ref(question), mode, extra, None)?;
        answers.pop().ok_or_else(|| Fault::new("no answer"))
    }

    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault> {
        self.evaluate(questions, "take", 0, None)
    }

    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault> {
        let question = std::slice::from_ref(question);
        self.evaluate(question, "refund", taken.at.0, taken.permit)
            .map(|_| ())
    }

    fn release(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        self.on_permit(question, "refund", held.permit)
    }

    fn renew(&self, question: &Question<'_>, held: Held) -> Result<bool, Fault> {
        self.on_permit(question, "renew", held.permit)
    }

    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault> {
        self.with_connection(&[(key, limit.identity())], |connection, keys, deadline| {
            connection.delete(&keys[0], deadline)
        })
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

impl Redis {
    fn on_permit(
        &self,
        question: &Question<'_>,
        mode: &str,
        permit: Permit,
    ) -> Result<bool, Fault> {
        let answers = self.evaluate(std::slice::from_ref(question), mode, 0, Some(permit))?;
        Ok(answers
            .first()
            .is_some_and(|answer| answer.decision.allowed))
    }

    /// Asks all questions in one call, if any needs to be asked at all.
    fn evaluate(
        &self,
        questions: &[Question<'_>],
        mode: &str,
        extra: u64,
        permit: Option<Permit>,
    ) -> Result<Vec<Answer>, Fault> {
        let mut answers: Vec<Option<Answer>> = questions
            .iter()
            .map(|question| composite::stateless(question, Source::Redis))
            .collect();
        let asked: Vec<&Question<'_>> = questions
            .iter()
            .zip(&answers)
            .filter_map(|(question, answer)| answer.is_none().then_some(question))
            .collect();
        let refused = questions.iter().zip(&answers).any(|(question, answer)| {
            !question.dry_run && answer.is_some_and(|answer| !answer.decision.allowed)
        });
        // Beside a limit of 0 nothing may be taken from the others.
        let mode = if refused && mode == "take" {
            "peek"
        } else {
            mode
        };
        if !asked.is_empty() {
            let mut replies = self.ask(&asked, mode, extra, permit)?.into_iter();
            for answer in answers.iter_mut().filter(|answer| answer.is_none()) {
                *answer = replies.next();
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    fn ask(
        &self,
        questions: &[&Question<'_>],
        mode: &str,
        extra: u64,
        permit: Option<Permit>,
    ) -> Result<Vec<Answer>, Fault> {
        let bodies: Vec<Body> = questions.iter().filter_map(|q| Body::of(q.limit)).collect();
        let composite = (bodies.len() > 1).then(|| self.scripts.composite(&bodies));
        let script = match &composite {
            Some(script) => script,
            None => self.scripts.single(bodies[0]),
        };
        let named: Vec<_> = questions
            .iter()
            .map(|question| (question.key, question.limit.identity()))
            .collect();
        let dry = questions
            .iter()
            .enumerate()
            .filter(|(_, question)| question.dry_run)
            .fold(0_u64, |dry, (index, _)| dry | 1 << index);
        // The calendar is ours, the time is the server's: where our clock is
        // far off, the second round has the server's time to go by.
        let mut around = None;
        for _ in 0..3 {
            let permits: Vec<_> = questions
                .iter()
                .map(|question| match (permit, question.limit) {
                    (Some(permit), _) => permit,
                    (None, Limit::Concurrency(_)) => Permit::new(),
                    (None, _) => Permit(0),
                })
                .collect();
            let numbers: Vec<_> = questions
                .iter()
                .map(|question| arguments(question, around))
                .collect();
            let reply = self.with_connection(&named, |connection, keys, deadline| {
                connection.evaluate(
                    script,
                    keys,
                    |command| {
                        for ((numbers, permit), question) in
                            numbers.iter().zip(&permits).zip(questions)
                        {
                            command.arg(question.ask.cost.min(MOST));
                            for number in numbers {
                                command.arg(*number);
                            }
                            if let Limit::Concurrency(_) = question.limit {
                                command.arg(permit.name());
                            }
                        }
                        command.arg(mode).arg(extra).arg(dry);
                    },
                    2 + 5 * questions.len(),
                    deadline,
                )
            })?;
            let at = Micros(reply[1].max(0) as u64);
            let parts = reply[2..].chunks_exact(5);
            if parts.clone().any(|part| part[0] == -2) {
                around = Some(at);
                continue;
            }
            let mut answers = parts
                .zip(questions)
                .zip(permits)
                .map(|((part, question), permit)| answer_of(part, question, at, permit))
                .collect::<Result<Vec<_>, _>>()?;
            let refused = answers
                .iter()
                .zip(questions)
                .any(|(answer, question)| !answer.decision.allowed && !question.dry_run);
            if refused || mode != "take" {
                // Those that would have passed took nothing.
                for answer in &mut answers {
                    answer.permit = None;
                }
            }
            return Ok(answers);
        }
        Err(Fault::new(format!(
            "{}: its clock does not stand still long enough to tell the period",
            self.dsn
        )))
    }
}
