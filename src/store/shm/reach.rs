//! How a key finds its one place in an array of words, without a lock.
//!
//! A key lives in one of the words within reach of its home. A word that was
//! ever used never looks unused again, so a search ends at the first unused
//! one.
//!
//! **One key, one place.** Two workers that meet a new key at once must not
//! give it a place each, for then each would admit a full limit. So a new key
//! first *claims* a free word, then looks through its reach again: a state found
//! there, or a claim in front of its own, makes it withdraw; a claim behind its
//! own it removes. Only then does it swap its claim for the first state, which
//! fails if the claim was removed meanwhile.
//!
//! That no two claims A and B of one key both become states: each looks after it
//! was placed, so of the two looks at least one sees the other's claim or state.
//! Say A's look sees B's claim. If A is in front, A removes B's claim, and B's
//! swap fails; if that removal fails, B has become a state or withdrawn, and A
//! starts again. If A is behind, A withdraws. Claims are never the same word
//! twice, so no swap mistakes a later claim for its own.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use portable_atomic::AtomicU128;

/// A search for one key in an array of words.
pub(super) trait Search {
    /// How many words are looked at, from the home on.
    const REACH: usize;

    /// The array.
    fn words(&self) -> &[AtomicU128];
    /// Where the search begins.
    fn home(&self) -> usize;
    /// Whether a word holds this key.
    fn is_mine(&self, word: u128) -> bool;
    /// Whether a word that holds this key only reserves its place.
    fn is_claim(&self, index: usize, word: u128) -> bool;
    /// What to put in a word's place to give it up.
    fn freed(&self, index: usize, word: u128) -> u128;

    /// The words within reach, with their indices.
    #[inline(always)]
    fn reach(&self) -> impl Iterator<Item = (usize, u128)> {
        let words = self.words();
        let home = self.home();
        (0..Self::REACH.min(words.len())).map(move |step| {
            let mut index = home + step;
            if index >= words.len() {
                index -= words.len();
            }
            (index, words[index].load(SeqCst))
        })
    }

    /// The key's state or, where it has none, the first claim for it: one that
    /// a dead worker left may stand in front of a state.
    #[inline(always)]
    fn find(&self) -> Option<(usize, u128)> {
        let mut claim = None;
        for (index, word) in self
            .reach()
            .take_while(|(_, word)| *word != 0)
            .filter(|(_, word)| self.is_mine(*word))
        {
            if !self.is_claim(index, word) {
                return Some((index, word));
            }
            claim = claim.or(Some((index, word)));
        }
        claim
    }

    /// Changes a word, if it is still what it was.
    #[inline(always)]
    fn swap(&self, index: usize, old: u128, new: u128) -> bool {
        self.words()[index]
            .compare_exchange(old, new, SeqCst, Relaxed)
            .is_ok()
    }

    /// Gives a word up.
    fn free(&self, index: usize, word: u128) -> bool {
        self.swap(index, word, self.freed(index, word))
    }

    /// Whether the claim at `own` may become the key's state. If not, it was
    /// given up, and the search has to start again.
    #[cold]
    fn confirm(&self, own: usize, claim: u128) -> bool {
        let mut behind = false;
        for (index, word) in self.reach() {
            if word == 0 {
                break;
            }
            if index == own {
                behind = true;
            } else if self.is_mine(word) {
                if !(behind && self.is_claim(index, word)) {
                    self.free(own, claim);
                    return false;
                }
                if !self.free(index, word) {
                    return false;
                }
            }
        }
        true
    }
}
