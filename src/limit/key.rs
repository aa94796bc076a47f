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
/// kind, and the length of its window or its period and zone if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// One letter for the kind, as it stands in keys and fingerprints.
    pub letter: u8,
    /// The window in microseconds; 0 where the kind has none.
    pub window: u64,
    /// The time zone of a quota; empty elsewhere.
    pub zone: &'a str,
}

impl Identity<'_> {
    /// A kind without a window.
    #[inline(always)]
    pub(super) fn plain(letter: u8) -> Self {
        Self {
            letter,
            window: 0,
            zone: "",
        }
    }

    /// A kind with a window of this length.
    #[inline(always)]
    pub(super) fn of_window(letter: u8, length: Micros) -> Self {
        Self {
            letter,
            window: length.0,
            zone: "",
        }
    }
}
