//! Tokens that this host took ahead and has not given out yet.
//!
//! A key's lease is one 128-bit word, `[key 49 | asked 1 | batch 20 | left 20 |
//! lapses 38]`, in units of 1.024 ms. It is no state that anyone depends on: the
//! tokens were paid for when they were taken, so a lease that is lost, lapsed or
//! there twice costs tokens and never gives out one too many. Therefore nothing
//! is claimed; who needs room takes a word without tokens, else the one that
//! lapses first.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::mapping::Mapping;
use super::table::{LINE, Place};
use crate::limit::Micros;

/// The most tokens in a lease.
pub(in crate::store) const MOST_LEASED: u32 = (1 << COUNT_BITS) - 1;

const LAPSES_BITS: u32 = 38;
const COUNT_BITS: u32 = 20;
const KEY_BITS: u32 = 49;
const _: () = assert!(KEY_BITS + 1 + 2 * COUNT_BITS + LAPSES_BITS == 128);
/// The binary logarithm of the microseconds in a unit.
const UNIT: u32 = 10;

/// What a host holds of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Lease {
    /// Tokens that can still be given out.
    pub left: u32,
    /// Tokens that there were when some were last taken.
    pub batch: u32,
    /// When what is left is no longer given out.
    pub lapses_at: Micros,
    /// Whether a worker is about to take more.
    pub asked: bool,
}

/// Where a lease was found: index and word. A word of another key is one that
/// may be taken.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Found {
    index: usize,
    word: u128,
    /// The key's lease, if it has one.
    pub lease: Option<Lease>,
}

impl Lease {
    /// What can be given out at `now`.
    #[inline(always)]
    pub fn left_at(self, now: Micros) -> u32 {
        if self.lapses_at > now { self.left } else { 0 }
    }

    fn pack(self, place: Place) -> u128 {
        let lapses = (self.lapses_at.0 >> UNIT).min((1 << LAPSES_BITS) - 1);
        key_of(place) << (128 - KEY_BITS)
            | u128::from(self.asked) << (2 * COUNT_BITS + LAPSES_BITS)
            | u128::from(self.batch.min(MOST_LEASED)) << (COUNT_BITS + LAPSES_BITS)
            | u128::from(self.left.min(MOST_LEASED)) << LAPSES_BITS
            | u128::from(lapses)
    }

    fn unpack(word: u128) -> Self {
        let count = |shift: u32| (word >> shift) as u32 & MOST_LEASED;
        Self {
            left: count(LAPSES_BITS),
            batch: count(COUNT_BITS + LAPSES_BITS),
            lapses_at: lapses_at(word),
            asked: word >> (2 * COUNT_BITS + LAPSES_BITS) & 1 == 1,
        }
    }
}

fn key_of(place: Place) -> u128 {
    let key = place.wide_fingerprint() >> (64 - KEY_BITS);
    key.max(1).into()
}

fn lapses_at(word: u128) -> Micros {
    Micros((word as u64 & ((1 << LAPSES_BITS) - 1)) << UNIT)
}

impl Mapping {
    /// The key's lease, or the word that it may have.
    #[inline(always)]
    pub(in crate::store) fn find_lease(&self, place: Place, now: Micros) -> Found {
        let words = self.leases();
        let home = place.home_among(words.len() / LINE) * LINE;
        let rank = |word: u128| {
            let lease = Lease::unpack(word);
            (lease.left > 0 && lease.lapses_at > now, lease.lapses_at)
        };
        let mut first = None;
        for (step, word) in words[home..home + LINE].iter().enumerate() {
            let (index, word) = (home + step, word.load(SeqCst));
            if word >> (128 - KEY_BITS) == key_of(place) {
                return Found {
                    index,
                    word,
                    lease: Some(Lease::unpack(word)),
                };
            }
            if first.is_none_or(|(_, least)| rank(word) < rank(least)) {
                first = Some((index, word));
            }
        }
        let (index, word) = first.unwrap_or((home, 0));
        Found {
            index,
            word,
            lease: None,
        }
    }

    /// Puts a lease where one was found; `false` if another worker was faster.
    #[inline(always)]
    pub(in crate::store) fn swap_lease(&self, place: Place, found: Found, lease: Lease) -> bool {
        self.leases()[found.index]
            .compare_exchange(found.word, lease.pack(place), SeqCst, Relaxed)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{Key, Limit};
    use crate::store::shm::Table;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_lease_comes_back_as_it_went(left in 0..=MOST_LEASED, batch in 0..=MOST_LEASED, lapses in 0_u64..1 << 38, asked: bool) {
            let table = Table::new(Mapping::anonymous(1 << 16, Micros::ZERO).unwrap());
            let place = table.place(Key::unnamed(b"k"), Limit::None.identity());
            let found = table.mapping.find_lease(place, Micros::ZERO);
            prop_assert_eq!(found.lease, None);
            let lease = Lease { left, batch, lapses_at: Micros(lapses << UNIT), asked };
            prop_assert!(table.mapping.swap_lease(place, found, lease));
            prop_assert!(!table.mapping.swap_lease(place, found, lease), "it has changed since");
            prop_assert_eq!(table.mapping.find_lease(place, Micros::ZERO).lease, Some(lease));
        }
    }
}
