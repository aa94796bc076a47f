//! Where state lives, and what a store owes its callers.
//!
//! A store owns its clock: time is read where the state is, after the state.

pub mod clock;
mod duration;
mod enforcement;
pub mod memory;
pub mod redis;
pub mod shm;
pub mod tiered;

pub use duration::parse_duration;
pub use enforcement::{Enforced, Enforcement, Enforcing};
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
}

/// A decision, and where it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The answer of the limit.
    pub decision: Decision,
    /// Who gave it.
    pub source: Source,
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
}

impl Fault {
    /// A fault with this message.
    pub fn new(message: impl Into<Box<str>>) -> Self {
        Self {
            message: message.into(),
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
}
