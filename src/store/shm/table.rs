//! The table: fixed slots, a keyed hash, and no lock anywhere.
//!
//! A key lives in one of the `REACH` slots that start at its home. Slots never
//! go back to unused, so a search ends at the first unused one.
//!
//! **One key, one slot.** Two workers that meet a new key at once must not give
//! it a slot each, for then both would admit a full bucket. So a new key first
//! claims a free slot, then looks through its reach again: a state found there,
//! or a claim in front of its own, makes it withdraw; a claim behind its own it
//! removes. Only then does it swap its claim for the first state, which fails
//! if the claim was removed meanwhile. Of two claims at least one worker sees
//! both, and no order of their steps lets both become states.

use std::hash::Hasher;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use portable_atomic::AtomicU128;
use siphasher::sip128::{Hash128, Hasher128, SipHasher13};

use super::mapping::Mapping;
use super::slot::{Fingerprint, Slot, Slotted};
use crate::limit::{Ask, Decision, Identity, Key, Micros, Mode};
use crate::store::clock::Clock;

/// Slots in which a key may live: sixteen cache lines. With half of that, one
/// key in 10⁵ found no free slot in a table filled to a half.
const REACH: usize = 64;
/// Slots in a cache line; homes are lines.
const LINE: usize = 4;

/// A table of slots in a shared mapping.
#[derive(Debug)]
pub struct Table {
    mapping: Mapping,
}

/// Where a key may be found, and by what it is known there.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    home: usize,
    fingerprint: Fingerprint,
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
    pub fn place(&self, key: Key<'_>, identity: Identity) -> Place {
        let (k0, k1) = self.mapping.secret();
        let hasher = SipHasher13::new_with_keys(
            k0 ^ identity.window(),
            k1 ^ (u64::from(identity.letter()) << 56) ^ key.name.len() as u64,
        );
        let hash = if key.name.is_empty() {
            hasher.hash(key.bytes)
        } else {
            hash_both(hasher, key)
        };
        let lines = self.slots().len() / LINE;
        Place {
            home: ((u128::from(hash.h1) * lines as u128) >> 64) as usize * LINE,
            fingerprint: Fingerprint::of(hash.h2),
        }
    }

    /// Runs `kind` on the state at `place`.
    #[inline(always)]
    pub(super) fn decide<K: Slotted>(
        &self,
        place: Place,
        clock: &impl Clock,
        kind: &K,
        ask: Ask,
    ) -> Decision {
        loop {
            let found = self.find(place);
            let state = found
                .filter(|(_, slot)| !slot.is_claim())
                .map(|(_, slot)| K::unpack(slot));
            // After the load: a state written by then is never in the future.
            let now = self.now(clock);
            let outcome = kind.decide(state, now, ask);
            let Some(next) = outcome.write else {
                if let (Some((index, slot)), Some(state)) = (found, state)
                    && kind.outlives(slot)
                    && ask.mode != Mode::Peek
                    && !outcome.decision.allowed
                {
                    // Refused at a lower rate: what was spent has to be kept
                    // for longer. If another worker is faster, it does that.
                    self.swap(index, slot, kind.pack(place.fingerprint, state));
                }
                return outcome.decision;
            };
            let next = kind.pack(place.fingerprint, next);
            let written = match found {
                Some((index, slot)) if state.is_some() => self.swap(index, slot, next),
                Some((index, claim)) => self.settle(place, index, claim, next),
                None => self
                    .claim(place, now)
                    .is_some_and(|(index, claim)| self.settle(place, index, claim, next)),
            };
            if written {
                return outcome.decision;
            }
            std::hint::spin_loop();
        }
    }

    /// Forgets the state at `place`.
    pub(super) fn forget(&self, place: Place) {
        while let Some((index, slot)) = self.find(place) {
            self.swap(index, slot, Slot::FREE);
        }
    }

    /// How full the table is. Looks only at pages that were ever touched.
    pub(super) fn status(&self, clock: &impl Clock) -> TableStatus {
        let now = self.now(clock);
        let live = self
            .mapping
            .touched_slots()
            .filter(|slot| Slot(slot.load(Relaxed)).expires_at() > now)
            .count();
        TableStatus {
            size: self.mapping.size(),
            slots: self.slots().len(),
            live,
            evictions: self.mapping.evictions().load(Relaxed),
            path: self.mapping.path().map(|path| path.display().to_string()),
        }
    }

    fn slots(&self) -> &[AtomicU128] {
        self.mapping.slots()
    }

    fn now(&self, clock: &impl Clock) -> Micros {
        clock.now().since(self.mapping.made_at())
    }

    /// The slots in which a key may live, with their indices, in its order.
    fn reach(&self, place: Place) -> impl Iterator<Item = (usize, Slot)> + '_ {
        let slots = self.slots();
        (0..REACH.min(slots.len())).map(move |step| {
            let mut index = place.home + step;
            if index >= slots.len() {
                index -= slots.len();
            }
            (index, Slot(slots[index].load(SeqCst)))
        })
    }

    /// The key's state or, where it has none, the first claim for it: one that
    /// a dead worker left may stand in front of a state.
    #[inline(always)]
    fn find(&self, place: Place) -> Option<(usize, Slot)> {
        let mut claim = None;
        for (index, slot) in self
            .reach(place)
            .take_while(|(_, slot)| *slot != Slot::UNUSED)
            .filter(|(_, slot)| slot.belongs_to(place.fingerprint))
        {
            if !slot.is_claim() {
                return Some((index, slot));
            }
            claim = claim.or(Some((index, slot)));
        }
        claim
    }

    fn swap(&self, index: usize, old: Slot, new: Slot) -> bool {
        self.slots()[index]
            .compare_exchange(old.0, new.0, SeqCst, Relaxed)
            .is_ok()
    }

    /// Reserves the first free slot of a reach or, where all are taken, the one
    /// that expires soonest. `None` if another worker was faster.
    #[cold]
    fn claim(&self, place: Place, now: Micros) -> Option<(usize, Slot)> {
        let mut soonest: Option<(usize, Slot, Micros)> = None;
        for (index, slot) in self.reach(place) {
            let expires_at = slot.expires_at();
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
        let claim = Slot::claim(place.fingerprint, now, self.mapping.next_claim());
        if !self.swap(index, old, claim) {
            return None;
        }
        if expires_at > now && !old.is_claim() {
            self.mapping.evictions().fetch_add(1, Relaxed);
        }
        Some((index, claim))
    }

    /// Makes a claim the key's one slot and `state` its first state. `false` if
    /// the key has another slot, or lost this one.
    #[cold]
    fn settle(&self, place: Place, own: usize, claim: Slot, state: Slot) -> bool {
        let mut behind = false;
        for (index, slot) in self.reach(place) {
            if slot == Slot::UNUSED {
                break;
            }
            if index == own {
                behind = true;
                continue;
            }
            if !slot.belongs_to(place.fingerprint) {
                continue;
            }
            if behind && slot.is_claim() {
                if !self.swap(index, slot, Slot::FREE) {
                    return false;
                }
            } else {
                self.swap(own, claim, Slot::FREE);
                return false;
            }
        }
        self.swap(own, claim, state)
    }
}

fn hash_both(mut hasher: SipHasher13, key: Key<'_>) -> Hash128 {
    hasher.write(key.name);
    hasher.write(key.bytes);
    hasher.finish128()
}
