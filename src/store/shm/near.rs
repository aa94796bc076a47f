//! What a store elsewhere last said of a key, kept for all workers of this host.
//!
//! A cache and nothing else: whatever is lost is asked for again. So nothing is
//! claimed or locked; entries are overwritten in place, and one that is full of
//! two writers' words, or half written by a worker that was killed, says
//! nothing. That shows in its *seal*, a hash of its key and of all that it says.
//!
//! A head is one 128-bit word, `[key 46 | denied 1 | asked 1 | seal 32 | seen
//! 48]`. A key lives in one of [`WAYS`] entries. Who needs room takes the one
//! that was seen longest ago, a denial counting as younger than it is: callers
//! that make up keys do not push out those that are refused.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

use portable_atomic::AtomicU128;

use super::table::Place;
use crate::limit::{Cell, Micros, State};

/// Entries in which a key may live.
pub(super) const WAYS: usize = 4;

/// How much younger than it is a denial counts.
const DENIALS_LAST: u64 = 2_000_000;

/// What was last said of one key, in a form that may be read while it is
/// written.
#[repr(C, align(16))]
pub(in crate::store) struct Entry<const CELLS: usize> {
    head: AtomicU128,
    at: AtomicU64,
    round_trip: AtomicU32,
    count: AtomicU32,
    lasts: [AtomicU64; CELLS],
    takens: [AtomicU32; CELLS],
}

/// A state as another store knew it, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Sighting<S> {
    /// When it was asked for, by this table's time.
    pub seen_at: Micros,
    /// When it was answered, by the time of the store that answered.
    pub at: Micros,
    /// How long the answer took to come, at most.
    pub round_trip: Micros,
    /// Whether it was a refusal.
    pub denied: bool,
    /// The state; `None` where nothing is known any more.
    pub state: Option<S>,
}

impl<S: State> Sighting<S> {
    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.state.iter().flat_map(State::cells)
    }

    /// A hash that changes if any of this does, or the key.
    #[inline(always)]
    fn seal(&self, place: Place) -> u32 {
        let mut hash = place.wide_fingerprint();
        let mut add = |word: u64| {
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 29;
        };
        add(self.seen_at.0 << 1 | u64::from(self.denied));
        add(self.at.0);
        add(self.round_trip.0);
        for cell in self.cells() {
            add(cell.last.0);
            add(cell.taken.into());
        }
        (hash >> 32) as u32
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Head(u128);

const SEEN_BITS: u32 = 48;
const SEAL_BITS: u32 = 32;
const ASKED: u128 = 1 << (SEEN_BITS + SEAL_BITS);
const DENIED: u128 = ASKED << 1;
const KEY_BITS: u32 = 46;
const _: () = assert!(KEY_BITS + 2 + SEAL_BITS + SEEN_BITS == 128);

impl Head {
    fn new<S: State>(place: Place, sighting: &Sighting<S>) -> Self {
        let denied = if sighting.denied { DENIED } else { 0 };
        Self(
            Self::key(place)
                | denied
                | u128::from(sighting.seal(place)) << SEEN_BITS
                | u128::from(sighting.seen_at.0 & ((1 << SEEN_BITS) - 1)),
        )
    }

    /// The key in its place; never zero.
    #[inline(always)]
    fn key(place: Place) -> u128 {
        let key = place.wide_fingerprint() >> (64 - KEY_BITS);
        u128::from(key.max(1)) << (128 - KEY_BITS)
    }

    #[inline(always)]
    fn belongs_to(self, place: Place) -> bool {
        (self.0 ^ Self::key(place)) >> (128 - KEY_BITS) == 0
    }

    fn seen_at(self) -> u64 {
        self.0 as u64 & ((1 << SEEN_BITS) - 1)
    }

    fn seal(self) -> u32 {
        (self.0 >> SEEN_BITS) as u32
    }

    /// Who goes first where there is no room: the least.
    fn rank(self) -> u64 {
        let bonus = if self.0 & DENIED == 0 {
            0
        } else {
            DENIALS_LAST
        };
        self.seen_at() + bonus
    }
}

/// The entries of one size.
pub(in crate::store) struct Near<'a, const CELLS: usize>(pub(super) &'a [Entry<CELLS>]);

impl<const CELLS: usize> Near<'_, CELLS> {
    #[inline(always)]
    fn set(&self, place: Place) -> &[Entry<CELLS>] {
        let home = place.home_among(self.0.len() / WAYS) * WAYS;
        &self.0[home..home + WAYS]
    }

    #[inline(always)]
    fn find(&self, place: Place) -> Option<(&Entry<CELLS>, Head)> {
        self.set(place).iter().find_map(|entry| {
            let head = Head(entry.head.load(Relaxed));
            head.belongs_to(place).then_some((entry, head))
        })
    }

    /// What was last said of a key, if it is known.
    #[inline(always)]
    pub fn read<S: State>(&self, place: Place) -> Option<Sighting<S>> {
        let (entry, head) = self.find(place)?;
        let count = (entry.count.load(Relaxed) as usize).min(CELLS);
        let cells = (0..count).map(|index| Cell {
            last: Micros(entry.lasts[index].load(Relaxed)),
            taken: entry.takens[index].load(Relaxed),
        });
        let sighting = Sighting {
            seen_at: Micros(head.seen_at()),
            at: Micros(entry.at.load(Relaxed)),
            round_trip: Micros(entry.round_trip.load(Relaxed).into()),
            denied: head.0 & DENIED != 0,
            state: S::of_cells(cells),
        };
        (sighting.seal(place) == head.seal()).then_some(sighting)
    }

    /// Keeps what was said of a key, unless what is known was asked for later.
    pub fn write<S: State>(&self, place: Place, sighting: &Sighting<S>) {
        let mut mine: Option<(&Entry<CELLS>, Head)> = None;
        let mut oldest: Option<(&Entry<CELLS>, Head)> = None;
        for entry in self.set(place) {
            let head = Head(entry.head.load(SeqCst));
            if head.belongs_to(place) {
                match mine {
                    None => mine = Some((entry, head)),
                    // Two workers met a new key at once; the first is found.
                    Some(_) => {
                        let _ = entry.head.compare_exchange(head.0, 0, SeqCst, Relaxed);
                    }
                }
            }
            if oldest.is_none_or(|(_, least)| head.rank() < least.rank()) {
                oldest = Some((entry, head));
            }
        }
        let Some((entry, old)) = mine.or(oldest) else {
            return;
        };
        if mine.is_some() && old.seen_at() > sighting.seen_at.0 {
            return;
        }
        entry.at.store(sighting.at.0, Relaxed);
        let mut count = 0;
        let places = entry.lasts.iter().zip(&entry.takens);
        for (cell, (last, taken)) in sighting.cells().zip(places) {
            last.store(cell.last.0, Relaxed);
            taken.store(cell.taken, Relaxed);
            count += 1;
        }
        entry.count.store(count, Relaxed);
        // No call takes an hour; one that did would be asked about again.
        entry
            .round_trip
            .store(sighting.round_trip.0 as u32, Relaxed);
        // If another worker was faster, its seal is broken now, and the key is
        // asked for again.
        let new = Head::new(place, sighting);
        let _ = entry.head.compare_exchange(old.0, new.0, SeqCst, Relaxed);
    }

    /// Whether the caller is to ask anew: it is the first who wants to since
    /// the key was last seen.
    pub fn ask_anew(&self, place: Place) -> bool {
        self.find(place).is_some_and(|(entry, head)| {
            head.0 & ASKED == 0
                && entry
                    .head
                    .compare_exchange(head.0, head.0 | ASKED, SeqCst, Relaxed)
                    .is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{Cells, Key, Limit, MOST_CELLS};
    use crate::store::shm::{Mapping, Table};

    fn place(table: &Table, key: &[u8]) -> Place {
        table.place(Key::unnamed(key), Limit::None.identity())
    }

    /// A state all of which is one number.
    fn all(number: u64) -> Sighting<Cells> {
        let cell = Cell {
            last: Micros(number),
            taken: number as u32,
        };
        Sighting {
            // So that none is older than another.
            seen_at: Micros(1),
            at: Micros(number),
            round_trip: Micros(number),
            denied: number & 1 == 0,
            state: Some(Cells::of([cell; MOST_CELLS])),
        }
    }

    #[test]
    fn what_two_workers_wrote_at_once_is_nobodys_state() {
        let table = Table::new(Mapping::anonymous(1 << 16, Micros::ZERO).unwrap());
        let near = table.mapping.near_windows();
        let place = place(&table, b"k");
        let writing = AtomicU32::new(4);
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let near = table.mapping.near_windows();
                let writing = &writing;
                scope.spawn(move || {
                    for number in 0..20_000 {
                        near.write(place, &all(number * 4 + worker));
                    }
                    writing.fetch_sub(1, SeqCst);
                });
            }
            while writing.load(SeqCst) > 0 {
                if let Some(seen) = near.read::<Cells>(place) {
                    assert_eq!(seen, all(seen.at.0));
                }
            }
        });
    }

    #[test]
    fn what_was_half_written_says_nothing_and_is_written_anew() {
        let table = Table::new(Mapping::anonymous(1 << 16, Micros::ZERO).unwrap());
        let (near, place) = (table.mapping.near_windows(), place(&table, b"k"));
        near.write(place, &all(7));
        assert_eq!(near.read(place), Some(all(7)));
        let (entry, _) = near.find(place).unwrap();
        // The worker is killed here.
        entry.takens[5].store(8, Relaxed);
        assert_eq!(near.read::<Cells>(place), None);
        near.write(place, &all(9));
        assert_eq!(near.read(place), Some(all(9)));
    }

    #[test]
    fn what_was_asked_for_earlier_does_not_replace_what_was_asked_for_later() {
        let table = Table::new(Mapping::anonymous(1 << 16, Micros::ZERO).unwrap());
        let (near, place) = (table.mapping.near_windows(), place(&table, b"k"));
        let later = Sighting {
            seen_at: Micros(2),
            ..all(7)
        };
        near.write(place, &later);
        near.write(place, &all(9));
        assert_eq!(near.read(place), Some(later));
    }
}
