//! The table: fixed slots, a keyed hash, and no lock anywhere. How a key finds
//! its slot is in [`reach`](super::reach).

use std::hash::Hasher;
use std::sync::atomic::Ordering::Relaxed;

use portable_atomic::AtomicU128;
use siphasher::sip128::{Hash128, Hasher128, SipHasher13};

use super::mapping::Mapping;
use super::reach::Search;
use super::slot::{Fingerprint, Slot, Slotted};
use crate::limit::{Ask, Decision, Identity, Key, Micros, Mode};

/// Slots in which a key may live: sixteen cache lines. With half of that, one
/// key in 10⁵ found no free slot in a table filled to a half.
const REACH: usize = 64;
/// Slots in a cache line; homes are lines.
pub(super) const LINE: usize = 4;

/// The tables of a shared mapping: slots here, and in their own files sliding
/// windows and permits.
#[derive(Debug)]
pub struct Table {
    pub(in crate::store) mapping: Mapping,
}

/// Where a key may be found, and by what it is known there: two halves of one
/// keyed hash.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    home: u64,
    print: u64,
}

impl Place {
    /// The home in an array of `count` elements.
    pub fn home_among(self, count: usize) -> usize {
        ((u128::from(self.home) * count as u128) >> 64) as usize
    }

    /// All 64 bits, for words that have room for them; never zero.
    #[inline(always)]
    pub(super) fn wide_fingerprint(self) -> u64 {
        self.print.max(1)
    }
}

/// The search for one key's slot.
struct Slots<'a> {
    mapping: &'a Mapping,
    home: usize,
    fingerprint: Fingerprint,
}

impl Search for Slots<'_> {
    const REACH: usize = REACH;

    #[inline(always)]
    fn words(&self) -> &[AtomicU128] {
        self.mapping.slots()
    }

    #[inline(always)]
    fn home(&self) -> usize {
        self.home
    }

    #[inline(always)]
    fn is_mine(&self, word: u128) -> bool {
        Slot(word).belongs_to(self.fingerprint)
    }

    fn is_claim(&self, _: usize, word: u128) -> bool {
        Slot(word).is_claim()
    }

    fn freed(&self, _: usize, _: u128) -> u128 {
        Slot::FREE.0
    }
}

/// How full a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStatus {
    /// Bytes mapped.
    pub size: usize,
    /// Slots in all.
    pub slots: usize,
    /// Slots whose state still matters.
    pub live: usize,
    /// States that still mattered when they made room for others.
    pub evictions: u64,
    /// The file that is mapped, if it is one.
    pub path: Option<String>,
}

impl Table {
    /// The table in this mapping.
    pub fn new(mapping: Mapping) -> Self {
        Self { mapping }
    }

    /// Where this key's state under this identity lives.
    ///
    /// What is not bytes goes into the hash's key: the kind, its window, and
    /// where the name ends and the caller's key begins.
    #[inline(always)]
    pub fn place(&self, key: Key<'_>, identity: Identity<'_>) -> Place {
        self.place_in(0, key, identity)
    }

    /// The same for states that belong to another store, each of which has a
    /// realm of its own: [`realm`](Self::realm).
    #[inline(always)]
    pub(in crate::store) fn place_in(
        &self,
        realm: u64,
        key: Key<'_>,
        identity: Identity<'_>,
    ) -> Place {
        let (k0, k1) = self.mapping.secret();
        let hasher = SipHasher13::new_with_keys(
            k0 ^ identity.window ^ realm,
            k1 ^ u64::from(identity.letter) << 56
                ^ (identity.zone.len() as u64) << 48
                ^ key.name.len() as u64,
        );
        let hash = if key.name.is_empty() && identity.zone.is_empty() {
            hasher.hash(key.bytes)
        } else {
            hash_both(hasher, &[identity.zone.as_bytes(), key.name, key.bytes])
        };
        Place {
            home: hash.h1,
            print: hash.h2,
        }
    }

    /// A number for the store of this name, which nobody can choose.
    pub(in crate::store) fn realm(&self, name: &[u8]) -> u64 {
        let (k0, k1) = self.mapping.secret();
        SipHasher13::new_with_keys(!k0, !k1).hash(name).h1
    }

    #[inline(always)]
    fn search(&self, place: Place) -> Slots<'_> {
        let lines = self.mapping.slots().len() / LINE;
        Slots {
            mapping: &self.mapping,
            home: place.home_among(lines) * LINE,
            fingerprint: Fingerprint::of(place.print),
        }
    }

    /// Decides by `kind` on the state at `place`: the answer, and when it was
    /// given.
    ///
    /// `now` is the kind's own time, `table_now` the time that tells what has
    /// expired. Both are asked after the state was loaded: a state that another
    /// worker has written by then is never in the future.
    #[inline(always)]
    pub(super) fn decide<K: Slotted>(
        &self,
        place: Place,
        now: impl Fn() -> Micros,
        table_now: impl Fn() -> Micros,
        kind: &K,
        ask: Ask,
    ) -> (Decision, Micros) {
        let search = self.search(place);
        loop {
            let found = search.find();
            let state = state_in::<K>(found);
            let now = now();
            let outcome = kind.decide(state, now, ask);
            let refused = !outcome.decision.allowed && ask.mode != Mode::Peek;
            let write = match (outcome.write, found) {
                // Refused at a lower rate than it was written for, what was
                // spent has to be kept for longer.
                (None, Some((_, word))) if refused && kind.outlives(Slot(word)) => state,
                (write, _) => write,
            };
            let Some(next) = write else {
                return (outcome.decision, now);
            };
            let mut next = kind.pack(search.fingerprint, next);
            if let (Some((_, word)), true) = (found, state.is_some())
                && u64::from(next.taken()) > ask.cost
            {
                next = next.outliving(Slot(word));
            }
            if self.write(&search, found, state.is_some(), next, &table_now) {
                return (outcome.decision, now);
            }
            std::hint::spin_loop();
        }
    }

    /// Gives back what was taken at `taken_at`.
    pub(super) fn refund<K: Slotted>(
        &self,
        place: Place,
        now: impl Fn() -> Micros,
        kind: &K,
        cost: u64,
        taken_at: Micros,
    ) {
        let search = self.search(place);
        while let Some((index, word)) = search.find()
            && let Some(state) = state_in::<K>(Some((index, word)))
            && let Some(next) = kind.give_back(state, now(), cost, taken_at)
        {
            let next = kind.pack(search.fingerprint, next);
            if search.swap(index, word, next.0) {
                break;
            }
        }
    }

    /// Puts a state in the place of one of which less counts as spent.
    pub(super) fn raise<K: Slotted>(
        &self,
        place: Place,
        now: impl Fn() -> Micros,
        table_now: impl Fn() -> Micros,
        kind: &K,
        other: Option<K::State>,
    ) {
        let Some(other) = other else { return };
        let search = self.search(place);
        loop {
            let found = search.find();
            let state = state_in::<K>(found);
            let now = now();
            let spent = state.map_or(0, |state| kind.spent(state, now));
            if kind.spent(other, now) <= spent {
                return;
            }
            let next = kind.pack(search.fingerprint, other);
            if self.write(&search, found, state.is_some(), next, &table_now) {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Puts `next` where the key's state was found, or gives the key its slot.
    /// `false` if another worker was faster.
    #[inline(always)]
    fn write(
        &self,
        search: &Slots<'_>,
        found: Option<(usize, u128)>,
        is_state: bool,
        next: Slot,
        table_now: impl Fn() -> Micros,
    ) -> bool {
        match found {
            Some((index, word)) if is_state => search.swap(index, word, next.0),
            Some((index, claim)) => settle(search, index, claim, next),
            None => self
                .claim(search, table_now())
                .is_some_and(|(index, claim)| settle(search, index, claim, next)),
        }
    }

    /// Forgets the state at `place`.
    pub(super) fn forget(&self, place: Place) {
        let search = self.search(place);
        while let Some((index, word)) = search.find() {
            search.free(index, word);
        }
    }

    /// How full the tables are. Looks only at pages that were ever touched.
    pub(super) fn status(&self, now: Micros) -> TableStatus {
        let unix = self.mapping.made_at_unix();
        let live = self
            .mapping
            .touched_slots()
            .filter(|slot| Slot(slot.load(Relaxed)).expires_at(unix) > now)
            .count();
        TableStatus {
            size: self.mapping.size(),
            slots: self.mapping.slots().len(),
            live,
            evictions: self.mapping.evictions().load(Relaxed),
            path: self.mapping.path().map(|path| path.display().to_string()),
        }
    }

    /// Reserves the first free slot of a reach or, where all are taken, the one
    /// that expires soonest. `None` if another worker was faster.
    #[cold]
    fn claim(&self, search: &Slots<'_>, now: Micros) -> Option<(usize, u128)> {
        let unix = self.mapping.made_at_unix();
        let mut soonest: Option<(usize, Slot, Micros)> = None;
        for (index, word) in search.reach() {
            let slot = Slot(word);
            let expires_at = slot.expires_at(unix);
            if soonest.is_none_or(|(_, _, least)| expires_at < least) {
                soonest = Some((index, slot, expires_at));
            }
            // An unused slot expires at 0, so it ends the search as well.
            if expires_at <= now {
                soonest = Some((index, slot, expires_at));
                break;
            }
        }
        let (index, old, expires_at) = soonest?;
        let claim = Slot::claim(search.fingerprint, now, self.mapping.next_claim());
        if !search.swap(index, old.0, claim.0) {
            return None;
        }
        if expires_at > now && !old.is_claim() {
            self.mapping.evictions().fetch_add(1, Relaxed);
        }
        Some((index, claim.0))
    }
}

/// The state in a word that was found; a claim has none yet.
#[inline(always)]
fn state_in<K: Slotted>(found: Option<(usize, u128)>) -> Option<K::State> {
    found
        .map(|(_, word)| Slot(word))
        .filter(|slot| !slot.is_claim())
        .map(K::unpack)
}

/// Makes a claim the key's one slot and `state` its first state. `false` if the
/// key has another slot, or lost this one.
#[cold]
fn settle(search: &Slots<'_>, own: usize, claim: u128, state: Slot) -> bool {
    search.confirm(own, claim) && search.swap(own, claim, state.0)
}

fn hash_both(mut hasher: SipHasher13, name: &[&[u8]]) -> Hash128 {
    for part in name {
        hasher.write(part);
    }
    hasher.finish128()
}
