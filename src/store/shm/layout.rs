//! How a mapping is divided.

use portable_atomic::AtomicU128;

use super::permits::Block;
use super::table::LINE;
use super::windows::Record;
use super::worker::{Desk, NUMBER_BITS};

/// The smallest table: 64 KiB.
pub const MIN_SIZE: usize = 64 << 10;
/// The largest table: 64 GiB.
pub const MAX_SIZE: usize = 64 << 30;

/// A page. The header has one of its own, and every array starts on one.
pub(super) const PAGE: usize = 4096;

/// How a mapping is divided: the size that was asked for is for slots, and
/// about a quarter of it comes on top, for sliding windows, permits and the
/// workers' desks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub slots: Array,
    pub heads: Array,
    pub records: Array,
    pub block_heads: Array,
    pub blocks: Array,
    pub desks: Array,
    pub reserve: usize,
    /// All of it.
    pub size: usize,
}

/// Where an array lies, and how many elements it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub at: usize,
    pub count: usize,
}

impl Layout {
    /// The layout for so many bytes of slots, within what is allowed.
    pub fn of(size: usize) -> Self {
        const WORD: usize = size_of::<AtomicU128>();
        let size = size.clamp(MIN_SIZE, MAX_SIZE);
        let mut at = PAGE;
        let mut array = |count: usize, element: usize| {
            let array = Array { at, count };
            at = (at + count * element).next_multiple_of(PAGE);
            array
        };
        let desks = (size / (16 << 10)).clamp(8, 1 << NUMBER_BITS);
        let reserve = desks;
        let slots = size / WORD / LINE * LINE;
        let heads = size / 16 * 3 / (WORD + size_of::<Record>());
        let blocks = size / 32 / (WORD + size_of::<Block>());
        let slots = array(slots, WORD);
        let records = heads + desks + reserve;
        let heads = array(heads, WORD);
        let records = array(records, size_of::<Record>());
        let block_heads = array(blocks, WORD);
        let blocks = array(blocks, size_of::<Block>());
        let desks = array(desks, size_of::<Desk>());
        Self {
            slots,
            heads,
            records,
            block_heads,
            blocks,
            desks,
            reserve,
            size: at,
        }
    }
}
