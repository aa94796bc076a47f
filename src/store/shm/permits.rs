//! Permits: held as long as their holder lives.
//!
//! A key's permits are cells of 64 bits, `[number 14 | incarnation 18 |
//! sequence 32]`: which worker holds it, and which of its permits it is. A cell
//! whose worker is dead is as good as an empty one, and that is one load to
//! tell. Cells come in blocks of 64; a key has as many blocks as its `max`
//! needs, each found by a head of its own, `[fingerprint 64 | claim 1 | block 15
//! | version 48]`.
//!
//! Acquiring swaps a free cell, then the head from one version to the next.
//! Whoever wants a block for another key swaps its head from the version it
//! saw before it found all cells dead; so of the two only one succeeds, and a
//! live permit is never evicted.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

use portable_atomic::AtomicU128;

use super::mapping::Mapping;
use super::reach::Search;
use super::table::Place;
use super::worker::{INCARNATION_BITS, NUMBER_BITS, Worker};
use crate::store::Permit;

/// Cells in a block.
pub(super) const CELLS: usize = 64;

/// The permits of one key, or a part of them.
#[repr(C, align(64))]
pub(super) struct Block {
    cells: [AtomicU64; CELLS],
}

/// Why a permit cannot be given out at all.
pub(super) enum NoRoom {
    /// All desks are taken by the living.
    Desks,
    /// All blocks within reach have live permits of other keys.
    Blocks,
}

/// How many are in use, and the permit that was taken.
pub(super) struct Taken {
    pub in_use: u32,
    pub permit: Option<Permit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Head(u128);

const VERSION: u128 = (1 << 48) - 1;
const CLAIM: u128 = 1 << 63;

impl Head {
    fn new(fingerprint: u64, block: u32, version: u128) -> Self {
        // Never all zero: that is a head that was never used.
        Self(u128::from(fingerprint) << 64 | u128::from(block) << 48 | (version & VERSION).max(1))
    }

    fn next(self) -> Self {
        Self((self.0 & !VERSION) | ((self.0 + 1) & VERSION).max(1))
    }

    fn is_claim(self) -> bool {
        self.0 & CLAIM != 0
    }

    /// Whose it is, without what changes.
    fn owner(self) -> u128 {
        self.0 & !VERSION & !CLAIM
    }
}

/// The search for one block of one key.
struct Blocks<'a> {
    mapping: &'a Mapping,
    home: usize,
    fingerprint: u64,
    block: u32,
}

impl Search for Blocks<'_> {
    const REACH: usize = 64;

    fn words(&self) -> &[AtomicU128] {
        self.mapping.block_heads()
    }

    fn home(&self) -> usize {
        self.home
    }

    fn is_mine(&self, word: u128) -> bool {
        Head(word).owner() == Head::new(self.fingerprint, self.block, 0).owner()
    }

    fn is_claim(&self, _: usize, word: u128) -> bool {
        Head(word).is_claim()
    }

    fn freed(&self, _: usize, word: u128) -> u128 {
        Head::new(0, 0, word + 1).0
    }
}

fn holder(cell: u64) -> Worker {
    Worker {
        number: (cell >> (64 - NUMBER_BITS)) as u32,
        incarnation: (cell >> 32) as u32 & ((1 << INCARNATION_BITS) - 1),
    }
}

impl Mapping {
    /// Takes one of `max` permits, or says that all are in use.
    pub(super) fn acquire(&self, place: Place, max: u32) -> Result<Taken, NoRoom> {
        let worker = self.worker().ok_or(NoRoom::Desks)?;
        loop {
            let in_use = self.in_use(place, max);
            if in_use >= max {
                return Ok(Taken {
                    in_use,
                    permit: None,
                });
            }
            let blocks = max.div_ceil(CELLS as u32);
            for block in 0..blocks {
                let below = (max - block * CELLS as u32).min(CELLS as u32) as usize;
                let (index, head) = self.block_of(&self.search_block(place, block))?;
                if let Some(permit) = self.take_cell(index, head, below, worker) {
                    // Under a lowered `max` others may have been as fast.
                    let now_in_use = self.in_use(place, max);
                    if now_in_use > max {
                        self.release(permit);
                        return Ok(Taken {
                            in_use: now_in_use - 1,
                            permit: None,
                        });
                    }
                    return Ok(Taken {
                        in_use: in_use + 1,
                        permit: Some(permit),
                    });
                }
            }
            // All were free a moment ago and are not now: count again.
            std::hint::spin_loop();
        }
    }

    /// How many of a key's permits are held by the living: those beyond `max`
    /// too, which were taken under a higher one.
    pub(super) fn in_use(&self, place: Place, max: u32) -> u32 {
        let blocks = max.div_ceil(CELLS as u32);
        let mut in_use = 0;
        for block in 0.. {
            match self.search_block(place, block).find() {
                Some((index, _)) => {
                    let cells = &self.blocks()[index].cells;
                    in_use += cells.iter().filter(|cell| self.is_live(cell)).count() as u32;
                }
                None if block >= blocks => break,
                None => {}
            }
        }
        in_use
    }

    /// Gives a permit back; `false` if this worker does not hold it.
    pub(super) fn release(&self, permit: Permit) -> bool {
        self.cell_of(permit)
            .is_some_and(|(cell, value)| cell.compare_exchange(value, 0, AcqRel, Relaxed).is_ok())
    }

    /// Whether this worker still holds a permit.
    pub(super) fn holds(&self, permit: Permit) -> bool {
        self.cell_of(permit)
            .is_some_and(|(cell, value)| cell.load(Acquire) == value)
    }

    /// Takes back all permits of a key, whoever holds them.
    pub(super) fn forget_permits(&self, place: Place) {
        let mut block = 0;
        loop {
            let search = self.search_block(place, block);
            let Some((index, word)) = search.find() else {
                return;
            };
            let cells = &self.blocks()[index].cells;
            let held: [u64; CELLS] = std::array::from_fn(|cell| cells[cell].load(SeqCst));
            // What was read is this key's if the block still is; and no value
            // comes twice, so nothing that is not is ever wiped.
            let still = Head(self.block_heads()[index].load(SeqCst));
            if still.owner() == Head(word).owner() {
                for (cell, value) in cells.iter().zip(held) {
                    let _ = cell.compare_exchange(value, 0, SeqCst, Relaxed);
                }
                block += 1;
            }
        }
    }

    /// The cell a permit of this very process stands in.
    fn cell_of(&self, permit: Permit) -> Option<(&AtomicU64, u64)> {
        let (position, value) = ((permit.0 >> 64) as usize, permit.0 as u64);
        let ours = self.worker().is_some_and(|worker| worker == holder(value));
        let block = self.blocks().get(position / CELLS)?;
        ours.then(|| (&block.cells[position % CELLS], value))
    }

    fn is_live(&self, cell: &AtomicU64) -> bool {
        let value = cell.load(Acquire);
        value != 0 && self.is_alive(holder(value))
    }

    fn take_cell(
        &self,
        index: usize,
        mut head: Head,
        below: usize,
        worker: Worker,
    ) -> Option<Permit> {
        let value = u64::from(worker.number) << (64 - NUMBER_BITS)
            | u64::from(worker.incarnation) << 32
            | u64::from(self.next_claim());
        for (number, cell) in self.blocks()[index].cells[..below].iter().enumerate() {
            let old = cell.load(Acquire);
            if old != 0 && self.is_alive(holder(old)) {
                continue;
            }
            if cell.compare_exchange(old, value, AcqRel, Relaxed).is_err() {
                continue;
            }
            // Others acquire too; only another key's head ends it.
            loop {
                match self.block_heads()[index].compare_exchange(
                    head.0,
                    head.next().0,
                    SeqCst,
                    SeqCst,
                ) {
                    Ok(_) => {
                        let position = (index * CELLS + number) as u128;
                        return Some(Permit(position << 64 | u128::from(value)));
                    }
                    Err(now) if Head(now).owner() == head.owner() && !Head(now).is_claim() => {
                        head = Head(now);
                    }
                    Err(_) => {
                        let _ = cell.compare_exchange(value, 0, AcqRel, Relaxed);
                        return None;
                    }
                }
            }
        }
        None
    }

    fn search_block(&self, place: Place, block: u32) -> Blocks<'_> {
        let heads = self.block_heads().len();
        Blocks {
            mapping: self,
            home: (place.home_among(heads) + block as usize) % heads,
            fingerprint: place.wide_fingerprint(),
            block,
        }
    }

    /// The key's block, made if it has none yet.
    fn block_of(&self, search: &Blocks<'_>) -> Result<(usize, Head), NoRoom> {
        loop {
            let (index, head) = match search.find() {
                Some((index, word)) => (index, Head(word)),
                None => match self.claim_block(search)? {
                    Some(claimed) => claimed,
                    None => continue,
                },
            };
            if !head.is_claim() {
                return Ok((index, head));
            }
            let settled = Head(head.0 & !CLAIM).next();
            if search.confirm(index, head.0) && search.swap(index, head.0, settled.0) {
                return Ok((index, settled));
            }
        }
    }

    /// Claims the first block in reach that nobody holds a permit in. `None` if
    /// another worker was faster.
    #[cold]
    fn claim_block(&self, search: &Blocks<'_>) -> Result<Option<(usize, Head)>, NoRoom> {
        let free = search.reach().find(|(index, _)| {
            !self.blocks()[*index]
                .cells
                .iter()
                .any(|cell| self.is_live(cell))
        });
        let (index, old) = free.ok_or(NoRoom::Blocks)?;
        let mut claim = Head::new(search.fingerprint, search.block, old + 1);
        claim.0 |= CLAIM;
        Ok(search.swap(index, old, claim.0).then_some((index, claim)))
    }
}
