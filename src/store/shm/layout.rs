//! How a mapping is divided.

use portable_atomic::AtomicU128;

use super::circuits::Circuit;
use super::near::{Entry, WAYS};
use super::permits::Block;
use super::table::LINE;
use super::windows::Record;
use super::worker::{Desk, NUMBER_BITS};
use crate::limit::MOST_CELLS;

/// The smallest table: 64 KiB.
pub const MIN_SIZE: usize = 64 << 10;
/// The largest table: 64 GiB.
pub const MAX_SIZE: usize = 64 << 30;

/// A page. The header has one of its own, and every array starts on one.
pub(super) const PAGE: usize = 4096;

/// Redis servers, by their DSNs and in a Cluster by their nodes, that a host can
/// know to be away. An application has a handful.
const CIRCUITS: usize = 256;

/// How a mapping is divided: the size that was asked for is for slots, and
/// about a half of it comes on top: for sliding windows, permits and the
/// workers' desks, and for what this host knows of a Redis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub slots: Array,
    pub heads: Array,
    pub records: Array,
    pub block_heads: Array,
    pub blocks: Array,
    pub desks: Array,
    pub near: Array,
    pub near_windows: Array,
    pub leases: Array,
    pub circuits: Array,
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
        let near = size / 8 / size_of::<Entry<1>>() / WAYS * WAYS;
        let near_windows = size / 8 / size_of::<Entry<MOST_CELLS>>() / WAYS * WAYS;
        let leases = size / 128 / WORD / LINE * LINE;
        let slots = array(slots, WORD);
        let records = heads + desks + reserve;
        let heads = array(heads, WORD);
        let records = array(records, size_of::<Record>());
        let block_heads = array(blocks, WORD);
        let blocks = array(blocks, size_of::<Block>());
        let near = array(near, size_of::<Entry<1>>());
        let near_windows = array(near_windows, size_of::<Entry<MOST_CELLS>>());
        let leases = array(leases, WORD);
        let circuits = array(CIRCUITS, size_of::<Circuit>());
        let desks = array(desks, size_of::<Desk>());
        Self {
            slots,
            heads,
            records,
            block_heads,
            blocks,
            desks,
            near,
            near_windows,
            leases,
            circuits,
            reserve,
            size: at,
        }
    }
}
