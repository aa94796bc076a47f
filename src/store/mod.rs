//! Where state lives, and what a store owes its callers.
//!
//! A store owns its clock: time is read where the state is, after the state.

pub mod clock;
mod composite;
pub mod document;
mod duration;
mod enforcement;
pub mod fork;
pub mod memory;
mod permit;
pub mod policies;
pub mod redis;
pub mod shm;
pub mod tiered;

pub use composite::speaks_for_all;
pub use duration::parse_duration;
pub use enforcement::{Enforced, Enforcement, Enforcing};
pub use permit::Permit;
pub use tiered::{Failure, OnFailure};

use std::fmt;

use crate::limit::{Ask, Decision, Key, Limit, Micros};

/// Keeps the state of limits and decides on it.
pub trait Store {
    /// Answers one question about one key under one limit.
    ///
    /// # Errors
    /// Where the store cannot be asked, within its time budget. Whether a
    /// charge was then applied is unknown; it is never sent again.
    fn decide(&self, question: &Question<'_>) -> Result<Answer, Fault>;

    /// Answers several questions, all or nothing: each takes what it asks for,
    /// or none does and those that would have passed only say so.
    ///
    /// A question in a dry run counts as passing.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    fn decide_all(&self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Fault>;

    /// Gives back `question.ask.cost` tokens that `taken` took, where it took
    /// them. Never more than is spent.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    fn refund(&self, question: &Question<'_>, taken: &Answer) -> Result<(), Fault>;

    /// Gives back a permit. `false` if it was no longer held.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    fn release(&self, question: &Question<'_>, permit: Held) -> Result<bool, Fault>;

    /// Makes a permit last a whole lease from now. `false` if it was no longer
    /// held.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    fn renew(&self, question: &Question<'_>, permit: Held) -> Result<bool, Fault>;

    /// Forgets what was taken from this key under this limit.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    fn reset(&self, key: Key<'_>, limit: &Limit) -> Result<(), Fault>;

    /// How the store does, for people.
    fn status(&self) -> Status;

    /// Unix time by the store's own clock, if it has one for tests; else the
    /// system's is meant.
    fn unix_time(&self) -> Option<Micros> {
        None
    }
}

/// One question about one key under one limit.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Who is limited.
    pub key: Key<'a>,
    /// By what.
    pub limit: &'a Limit,
    /// How many tokens, and what to do with them.
    pub ask: Ask,
    /// What to answer if the store cannot be asked.
    pub on_failure: &'a OnFailure,
    /// Whether a refusal counts as passing among several questions.
    pub dry_run: bool,
}

/// A decision, and where it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The answer of the limit.
    pub decision: Decision,
    /// Who gave it.
    pub source: Source,
    /// When it was made, by the store's clock.
    pub at: Micros,
    /// The permit that was taken, if one was.
    pub permit: Option<Permit>,
}

/// A permit, and who gave it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The permit.
    pub permit: Permit,
    /// Who gave it out, and takes it back.
    pub source: Source,
}

impl Answer {
    /// The permit that was taken, if one was.
    pub fn held(&self) -> Option<Held> {
        self.permit.map(|permit| Held {
            permit,
            source: self.source,
        })
    }
}

/// Where a decision was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This host's shared memory.
    SharedMemory,
    /// Redis.
    Redis,
    /// The last state of Redis that this host saw.
    NearState,
    /// Tokens that this host took from Redis ahead.
    Lease,
    /// This host alone, while Redis could not be asked.
    Fallback,
    /// Let through, while Redis could not be asked.
    FailedOpen,
    /// Refused, while Redis could not be asked.
    FailedClosed,
    /// This process alone.
    Memory,
}

/// Why a store could not be asked. Never holds a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened, for a log or an exception.
    pub message: Box<str>,
    /// Whether it is one key's and no other's: it says nothing of the store.
    pub of_key: bool,
    /// The node of a Cluster that it was met at; empty where a slot is nobody's.
    pub node: Option<Box<str>>,
}

impl Fault {
    /// A fault with this message.
    pub fn new(message: impl Into<Box<str>>) -> Self {
        Self {
            message: message.into(),
            of_key: false,
            node: None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// How a store does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Keys kept by the memory store.
    pub memory: Option<usize>,
    /// The shared-memory table.
    pub shared_memory: Option<shm::TableStatus>,
    /// The connection of this worker.
    pub redis: Option<redis::ConnectionStatus>,
    /// What stands before that connection.
    pub tiers: Option<tiered::TierStatus>,
}

/// Unix time by the system's clock.
pub fn unix_now() -> Micros {
    let since = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    Micros(since.as_micros() as u64)
}
