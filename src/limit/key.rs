//! Who is limited, and by what: the name under which state is kept.

use super::Micros;

/// A caller's key under one limit's name.
///
/// Both are bytes; any bytes, of any length. Two different pairs never share
/// state: names are written with their length in front wherever the two meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The policy's name; empty for a limit without one.
    pub name: &'a [u8],
    /// The opaque bytes that say who is limited.
    pub bytes: &'a [u8],
}

impl<'a> Key<'a> {
    /// The key of a limit without a name.
    pub fn unnamed(bytes: &'a [u8]) -> Self {
        Self { name: b"", bytes }
    }
}

/// The part of a limit that keeps its state apart from others on one key: its
/// kind, and the length of its window if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A token bucket; its capacity and rate may change.
    TokenBucket,
    /// A fixed window of this length; its limit may change.
    FixedWindow(Micros),
}

impl Identity {
    /// One letter for the kind, as it stands in keys and fingerprints.
    pub fn letter(self) -> u8 {
        match self {
            Self::TokenBucket => b'b',
            Self::FixedWindow(_) => b'f',
        }
    }

    /// The window in microseconds; 0 where the kind has none.
    pub fn window(self) -> u64 {
        match self {
            Self::TokenBucket => 0,
            Self::FixedWindow(length) => length.0,
        }
    }
}
