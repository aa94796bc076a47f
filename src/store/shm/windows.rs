//! Sliding windows: a head that names a record, and records that are never
//! changed while a head names them.
//!
//! A head is one 128-bit word, `[fingerprint 64 | version 32 | record 32]`. Who
//! writes fills a spare record that is its own, swaps the head to it, and then
//! owns the record that the head named before. There are as many records as
//! heads and workers, so nothing is ever allocated: a head that was never used
//! names the record of its own number.
//!
//! A worker may be killed between the swap and the hand-over. So it first notes
//! at its desk which head it is about to swap, from which version, and which
//! record that names; who takes the desk next can then tell which of the two
//! records is its own. Where the head has moved on since and nobody can tell,
//! it takes a record from the reserve, and one is lost.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

use portable_atomic::AtomicU128;

use super::mapping::Mapping;
use super::reach::Search;
use super::table::Place;
use super::worker::Desk;
use crate::limit::{Ask, Cell, Cells, Decision, Kind, MOST_CELLS, Micros, SlidingWindow};

/// The cells of one window, in a form that may be read while it is written.
#[repr(C)]
pub(super) struct Record {
    /// When all cells will have left the window.
    expires_at: AtomicU64,
    lasts: [AtomicU64; MOST_CELLS],
    takens: [AtomicU32; MOST_CELLS],
    count: AtomicU32,
}

impl Record {
    fn read(&self) -> (Cells, Micros) {
        let count = (self.count.load(Relaxed) as usize).min(MOST_CELLS);
        let cells = (0..count).map(|index| Cell {
            last: Micros(self.lasts[index].load(Relaxed)),
            taken: self.takens[index].load(Relaxed),
        });
        (Cells::of(cells), Micros(self.expires_at.load(Relaxed)))
    }

    fn write(&self, cells: &Cells, expires_at: Micros) {
        // Behind the swap that freed the record: whoever still reads it must
        // see the head changed if it sees any of this.
        fence(Release);
        for (index, cell) in cells.as_slice().iter().enumerate() {
            self.lasts[index].store(cell.last.0, Relaxed);
            self.takens[index].store(cell.taken, Relaxed);
        }
        self.count.store(cells.as_slice().len() as u32, Relaxed);
        self.expires_at.store(expires_at.0, Relaxed);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Head(u128);

impl Head {
    fn new(fingerprint: u64, version: u32, record: u32) -> Self {
        Self(u128::from(fingerprint) << 64 | u128::from(version) << 32 | u128::from(record))
    }

    fn fingerprint(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn version(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn next_version(self) -> u32 {
        // Never 0, so that a freed head does not look unused.
        self.version().wrapping_add(1).max(1)
    }

    /// The record it names: its own number where it was never used.
    fn record(self, index: usize) -> u32 {
        if self.0 == 0 {
            index as u32
        } else {
            self.0 as u32
        }
    }
}

/// The search for one key's head.
struct Heads<'a> {
    mapping: &'a Mapping,
    home: usize,
    fingerprint: u64,
}

impl Search for Heads<'_> {
    const REACH: usize = 32;

    fn words(&self) -> &[AtomicU128] {
        self.mapping.heads()
    }

    fn home(&self) -> usize {
        self.home
    }

    fn is_mine(&self, word: u128) -> bool {
        Head(word).fingerprint() == self.fingerprint
    }

    /// A claim has no cells yet. A window that changes meanwhile has some.
    fn is_claim(&self, index: usize, word: u128) -> bool {
        self.mapping
            .read_record(index, Head(word))
            .is_some_and(|(cells, _)| cells.is_empty())
    }

    fn freed(&self, index: usize, word: u128) -> u128 {
        let head = Head(word);
        Head::new(0, head.next_version(), head.record(index)).0
    }
}

/// Why a window has no place: all desks are taken.
pub(super) struct NoDesk;

impl Mapping {
    pub(super) fn decide_window(
        &self,
        place: Place,
        now: impl Fn() -> Micros,
        window: &SlidingWindow,
        ask: Ask,
    ) -> Result<(Decision, Micros), NoDesk> {
        self.change_window(place, &now, window, |state| {
            let now = now();
            let outcome = window.decide(state, now, ask);
            ((outcome.decision, now), outcome.write)
        })
    }

    pub(super) fn refund_window(
        &self,
        place: Place,
        now: impl Fn() -> Micros,
        window: &SlidingWindow,
        cost: u64,
        taken_at: Micros,
    ) -> Result<(), NoDesk> {
        self.change_window(place, &now, window, |state| {
            let write = state.and_then(|state| window.give_back(state, now(), cost, taken_at));
            ((), write)
        })
    }

    /// Puts a state in the place of one of which less counts as spent.
    pub(super) fn raise_window(
        &self,
        place: Place,
        now: impl Fn() -> Micros,
        window: &SlidingWindow,
        other: Option<&Cells>,
    ) -> Result<(), NoDesk> {
        self.change_window(place, &now, window, |state| {
            let now = now();
            let spent = |state: Option<Cells>| state.map_or(0, |state| window.spent(state, now));
            let other = other.copied();
            ((), other.filter(|_| spent(other) > spent(state)))
        })
    }

    pub(super) fn forget_window(&self, place: Place) {
        let search = self.search_head(place);
        while let Some((index, word)) = search.find() {
            search.free(index, word);
        }
    }

    /// Reads, changes and swaps, until nobody came between. `change` reads the
    /// clock itself, after the state was read.
    fn change_window<T>(
        &self,
        place: Place,
        now: impl Fn() -> Micros,
        window: &SlidingWindow,
        change: impl Fn(Option<Cells>) -> (T, Option<Cells>),
    ) -> Result<T, NoDesk> {
        let search = self.search_head(place);
        loop {
            let found = search.find().map(|(index, word)| (index, Head(word)));
            let state = match found {
                Some((index, head)) => match self.read_record(index, head) {
                    Some((cells, _)) => Some(cells),
                    None => continue,
                },
                None => None,
            };
            let (result, write) = change(state);
            let Some(cells) = write else {
                return Ok(result);
            };
            let expires_at = cells
                .as_slice()
                .iter()
                .map(|cell| cell.last.after(window.length()))
                .max()
                .unwrap_or(Micros::ZERO);
            let swapped = match found {
                Some((index, head)) if state.is_some_and(|cells| !cells.is_empty()) => self
                    .swap_head(&search, index, head, &cells, expires_at)?
                    .is_some(),
                // An empty window is a claim; whoever uses it has to settle it.
                Some((index, claim)) => {
                    self.settle_head(&search, index, claim, &cells, expires_at)?
                }
                None => match self.claim_head(&search, now())? {
                    Some((index, claim)) => {
                        self.settle_head(&search, index, claim, &cells, expires_at)?
                    }
                    None => false,
                },
            };
            if swapped {
                return Ok(result);
            }
            std::hint::spin_loop();
        }
    }

    fn head(&self, index: usize) -> Head {
        Head(self.heads()[index].load(SeqCst))
    }

    fn search_head(&self, place: Place) -> Heads<'_> {
        Heads {
            mapping: self,
            home: place.home_among(self.heads().len()),
            fingerprint: place.wide_fingerprint(),
        }
    }

    /// The record a head names; `None` if the head was swapped meanwhile, and
    /// what was read may be half of one and half of another.
    fn read_record(&self, index: usize, head: Head) -> Option<(Cells, Micros)> {
        let read = self.record(head.record(index)).read();
        fence(Acquire);
        (self.head(index) == head).then_some(read)
    }

    /// Swaps a head to a record with these cells: the head as it is then.
    fn swap_head(
        &self,
        search: &Heads<'_>,
        index: usize,
        old: Head,
        cells: &Cells,
        expires_at: Micros,
    ) -> Result<Option<Head>, NoDesk> {
        let worker = self.worker().ok_or(NoDesk)?;
        let desk = &self.desks()[worker.number as usize];
        let spare = desk.spare.load(Relaxed);
        self.record(spare).write(cells, expires_at);
        let given = old.record(index);
        let new = Head::new(search.fingerprint, old.next_version(), spare);
        desk.intent_version.store(old.version(), Release);
        desk.intent
            .store((index as u64 + 1) << 32 | u64::from(given), Release);
        let swapped = search.swap(index, old.0, new.0);
        if swapped {
            desk.spare.store(given, Release);
        }
        desk.intent.store(0, Release);
        Ok(swapped.then_some(new))
    }

    /// What a worker that takes a desk has to find out if the one before it
    /// died in the middle of a swap: which record is the desk's.
    ///
    /// `false` if nobody can tell and the reserve is used up.
    pub(super) fn recover_spare(&self, desk: &Desk) -> bool {
        let intent = desk.intent.load(Acquire);
        let index = (intent >> 32) as usize;
        if index == 0 || index > self.heads().len() {
            return true;
        }
        let (index, given) = (index - 1, intent as u32);
        let before = desk.intent_version.load(Acquire);
        let head = self.head(index);
        let spare = desk.spare.load(Acquire);
        if head.version() == before {
            // Not swapped; the spare is still ours.
        } else if head.version() == Head::new(0, before, 0).next_version() {
            if head.record(index) == spare {
                desk.spare.store(given, Release);
            }
            // Else another was faster, or the hand-over was done.
        } else {
            let Some(fresh) = self.take_from_reserve() else {
                return false;
            };
            desk.spare.store(fresh, Release);
        }
        desk.intent.store(0, Release);
        true
    }

    /// Reserves the first free head of a reach or, where all are taken, the
    /// one that expires soonest, with an empty window. `None` if another
    /// worker was faster.
    #[cold]
    fn claim_head(&self, search: &Heads<'_>, now: Micros) -> Result<Option<(usize, Head)>, NoDesk> {
        let mut soonest: Option<(usize, Head, Micros)> = None;
        for (index, word) in search.reach() {
            let head = Head(word);
            let expires_at = if head.fingerprint() == 0 {
                Micros::ZERO
            } else {
                match self.read_record(index, head) {
                    Some((_, expires_at)) => expires_at,
                    None => return Ok(None),
                }
            };
            if soonest.is_none_or(|(_, _, least)| expires_at < least) {
                soonest = Some((index, head, expires_at));
            }
            if expires_at <= now {
                soonest = Some((index, head, expires_at));
                break;
            }
        }
        let Some((index, old, expires_at)) = soonest else {
            return Ok(None);
        };
        let claim = self.swap_head(search, index, old, &Cells::NONE, now.after(CLAIM_LASTS))?;
        if claim.is_some() && expires_at > now.after(CLAIM_LASTS) {
            self.evictions().fetch_add(1, Relaxed);
        }
        Ok(claim.map(|claim| (index, claim)))
    }

    /// Makes a claim the key's one head, and `cells` its first state.
    #[cold]
    fn settle_head(
        &self,
        search: &Heads<'_>,
        own: usize,
        claim: Head,
        cells: &Cells,
        expires_at: Micros,
    ) -> Result<bool, NoDesk> {
        Ok(search.confirm(own, claim.0)
            && self
                .swap_head(search, own, claim, cells, expires_at)?
                .is_some())
    }
}

/// A claim older than this was left behind by a worker that died.
const CLAIM_LASTS: Micros = Micros(1000);
