//! One 128-bit word: a key's fingerprint and its whole state, changed together.
//!
//! ```text
//! 127              79 78   73 72           48 47                       0
//! [ fingerprint  49 ][ life 6 ][   taken  25 ][        instant  48      ]
//! ```
//!
//! Instants count microseconds since the table was made; 48 bits last 8.9
//! years. `life` says when the word stops to matter: for a bucket the binary
//! logarithm of the microseconds one token takes, for a window that `instant`
//! itself is the end.

use crate::limit::{
    Bucket, FixedWindow, Kind, LeakyBucket, Micros, Quota, Rate, TokenBucket, Window,
};

/// A word of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub u128);

/// The part of a key's hash that a word carries; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

const INSTANT_BITS: u32 = 48;
const TAKEN_BITS: u32 = 25;
const LIFE_BITS: u32 = 6;
const FINGERPRINT_BITS: u32 = 49;
const _: () = assert!(INSTANT_BITS + TAKEN_BITS + LIFE_BITS + FINGERPRINT_BITS == 128);

/// Quotas end at whole seconds.
const SECOND: u64 = 1_000_000;

const MAX_INSTANT: u64 = (1 << INSTANT_BITS) - 1;

/// Life of a window: until its instant.
const UNTIL_INSTANT: u64 = 63;
/// Life of a quota: until its instant, which is in seconds of Unix time.
const UNTIL_UNIX: u64 = 61;
/// Life of a claim: see [`Slot::claim`].
const CLAIM: u64 = 62;
/// A claim older than this was left behind by a worker that died.
const CLAIM_LASTS: u64 = 1000;

impl Fingerprint {
    pub fn of(hash: u64) -> Self {
        let bits = hash >> (64 - FINGERPRINT_BITS);
        Self(bits.max(1))
    }
}

impl Slot {
    /// Held something once; free. Expired since the table was made.
    pub const FREE: Self = Self(1 << (INSTANT_BITS + TAKEN_BITS));

    fn new(fingerprint: Fingerprint, life: u64, taken: u32, instant: u64) -> Self {
        debug_assert!(taken < 1 << TAKEN_BITS && life < 1 << LIFE_BITS);
        let low = u128::from(instant.min(MAX_INSTANT)) | u128::from(taken) << INSTANT_BITS;
        let high = fingerprint.0 << LIFE_BITS | life;
        Self(u128::from(high) << (INSTANT_BITS + TAKEN_BITS) | low)
    }

    fn of_bucket(fingerprint: Fingerprint, state: Bucket, rate: Option<Rate>) -> Self {
        // Rounded up, so that a slot never expires before its bucket is full.
        let life = rate.map_or(0, |rate| rate.token_log2().into());
        Self::new(fingerprint, life, state.taken, state.full_at.0)
    }

    /// A word that reserves a slot for a key before its first state goes there.
    ///
    /// No two claims are the same word: `nonce` counts the table's claims.
    pub fn claim(fingerprint: Fingerprint, now: Micros, nonce: u32) -> Self {
        Self::new(fingerprint, CLAIM, nonce & ((1 << TAKEN_BITS) - 1), now.0)
    }

    pub fn is_claim(self) -> bool {
        self.life() == CLAIM
    }

    pub fn belongs_to(self, fingerprint: Fingerprint) -> bool {
        (self.0 >> (128 - FINGERPRINT_BITS)) as u64 == fingerprint.0
    }

    fn life(self) -> u64 {
        (self.0 >> (INSTANT_BITS + TAKEN_BITS)) as u64 & ((1 << LIFE_BITS) - 1)
    }

    pub fn taken(self) -> u32 {
        (self.0 >> INSTANT_BITS) as u32 & ((1 << TAKEN_BITS) - 1)
    }

    fn instant(self) -> u64 {
        self.0 as u64 & MAX_INSTANT
    }

    /// This word, kept at least as long as `before`: a debt that is not paid
    /// may have been made at a slower rate.
    #[inline(always)]
    pub fn outliving(self, before: Self) -> Self {
        const LIFE: u128 = ((1 << LIFE_BITS) - 1) << (INSTANT_BITS + TAKEN_BITS);
        Self((self.0 & !LIFE) | (self.0 & LIFE).max(before.0 & LIFE))
    }

    /// Whether a bucket of this rate needs the word for longer than it lives.
    #[inline(always)]
    fn is_short_for(self, rate: Option<Rate>) -> bool {
        rate.is_some_and(|rate| u64::from(rate.token_log2()) > self.life())
    }

    /// When this word says the same as no word; `unix` is the Unix time from
    /// which instants count.
    pub fn expires_at(self, unix: Micros) -> Micros {
        let lasts = match self.life() {
            UNTIL_UNIX => return Micros(self.instant().saturating_mul(SECOND)).since(unix),
            UNTIL_INSTANT => 0,
            CLAIM => CLAIM_LASTS,
            log2 => u64::from(self.taken()).saturating_mul(1 << log2),
        };
        Micros(self.instant().saturating_add(lasts))
    }
}

/// A kind whose state fits in a slot.
pub(super) trait Slotted: Kind {
    /// Whether a word of this kind would go before its state is done under
    /// this limit: the rate was lowered since it was written.
    fn outlives(&self, slot: Slot) -> bool;
    fn pack(&self, fingerprint: Fingerprint, state: Self::State) -> Slot;
    fn unpack(slot: Slot) -> Self::State;
}

impl Slotted for TokenBucket {
    #[inline(always)]
    fn outlives(&self, slot: Slot) -> bool {
        slot.is_short_for(self.rate())
    }

    fn pack(&self, fingerprint: Fingerprint, state: Bucket) -> Slot {
        Slot::of_bucket(fingerprint, state, self.rate())
    }

    fn unpack(slot: Slot) -> Bucket {
        Bucket {
            full_at: Micros(slot.instant()),
            taken: slot.taken(),
        }
    }
}

impl Slotted for FixedWindow {
    /// Never: a window holds its own end.
    fn outlives(&self, _: Slot) -> bool {
        false
    }

    fn pack(&self, fingerprint: Fingerprint, state: Window) -> Slot {
        Slot::new(fingerprint, UNTIL_INSTANT, state.taken, state.ends_at.0)
    }

    fn unpack(slot: Slot) -> Window {
        Window {
            ends_at: Micros(slot.instant()),
            taken: slot.taken(),
        }
    }
}

impl Slotted for LeakyBucket {
    fn outlives(&self, slot: Slot) -> bool {
        slot.is_short_for(self.rate())
    }

    fn pack(&self, fingerprint: Fingerprint, state: Bucket) -> Slot {
        Slot::of_bucket(fingerprint, state, self.rate())
    }

    fn unpack(slot: Slot) -> Bucket {
        TokenBucket::unpack(slot)
    }
}

impl Slotted for Quota {
    /// Never: a window holds its own end.
    fn outlives(&self, _: Slot) -> bool {
        false
    }

    fn pack(&self, fingerprint: Fingerprint, state: Window) -> Slot {
        let end = state.ends_at.0.div_ceil(SECOND);
        Slot::new(fingerprint, UNTIL_UNIX, state.taken, end)
    }

    fn unpack(slot: Slot) -> Window {
        Window {
            ends_at: Micros(slot.instant().saturating_mul(SECOND)),
            taken: slot.taken(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Number;
    use proptest::prelude::*;

    #[test]
    fn the_longest_token_leaves_room_for_other_lives() {
        let slowest = TokenBucket::new(1, Number::Float(1.0 / 31_622_400.0)).unwrap();
        let slot = slowest.pack(
            Fingerprint::of(7),
            Bucket {
                full_at: Micros(5),
                taken: 1,
            },
        );
        assert!(slot.life() < UNTIL_UNIX);
        assert!(slot.expires_at(Micros::ZERO) >= Micros(5 + 31_622_400_000_000));
    }

    proptest! {
        #[test]
        fn a_slot_gives_back_what_it_took(hash: u64, instant in 0..=MAX_INSTANT, taken in 0_u32..1 << 25, rate in 1_i64..1_000_000) {
            let print = Fingerprint::of(hash);
            let bucket = TokenBucket::new(10, Number::Int(rate)).unwrap();
            let state = Bucket { full_at: Micros(instant), taken };
            let slot = bucket.pack(print, state);
            prop_assert_eq!(TokenBucket::unpack(slot), state);
            prop_assert!(slot.belongs_to(print) && !slot.is_claim());
            prop_assert!(slot.expires_at(Micros::ZERO) >= Micros(instant).after(bucket.rate().unwrap().time_for(taken)));

            let window = FixedWindow::new(1, Number::Int(1)).unwrap();
            let state = Window { ends_at: Micros(instant), taken };
            let slot = window.pack(print, state);
            prop_assert_eq!(FixedWindow::unpack(slot), state);
            prop_assert_eq!(slot.expires_at(Micros::ZERO), Micros(instant));

            prop_assert!(Slot::claim(print, Micros(instant), taken).is_claim());
        }
    }
}
