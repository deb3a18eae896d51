//! Plain structs that show a policy's memory, segment by segment.

use std::collections::BTreeMap;

use super::{Pool, SegmentUsage};
use crate::policy::{Address, Policy, PoolId, PoolOf};

/// A policy that shows what it has.
pub trait Inspect: Policy {
    /// Every segment with its blocks, by address.
    fn snapshot(&self) -> Vec<SegmentSnapshot<Self::Stream>>;

    /// The bytes that are taken from the source for each pool that has any.
    fn reserved_by_pool(&self) -> BTreeMap<PoolId, u64> {
        let mut reserved = BTreeMap::new();
        for segment in self.snapshot() {
            if let Some(pool) = segment.pool {
                *reserved.entry(pool.id()).or_default() += segment.total_size;
            }
        }
        reserved
    }

    /// All that is taken from the source, with what keeps it.
    fn taken(&self) -> Vec<SegmentUsage>;
}

/// Memory that was taken from the source in one piece, or that is mapped without a gap. The fields
/// have PyTorch's names; sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentSnapshot<K> {
    /// The first byte.
    pub address: Address,
    /// The size of all blocks together.
    pub total_size: u64,
    /// The part that the program holds.
    pub allocated_size: u64,
    /// The part that the program holds, or has freed while other streams still use it.
    pub active_size: u64,
    /// The bytes that were asked for, of the active part, before rounding.
    pub requested_size: u64,
    /// The stream that the segment's memory is handed out to; nothing where that is any.
    pub stream: Option<K>,
    /// The pool that is kept apart, if the segment belongs to one.
    pub pool: Option<PoolOf>,
    /// Whether it serves small or large requests.
    pub segment_type: Pool,
    /// Whether it consists of pages that are mapped and unmapped one by one.
    pub is_expandable: bool,
    /// Whether nothing of it is given back, held or not: graphs may use it, or it is kept for those
    /// who are in its pool.
    pub is_kept: bool,
    /// The blocks, by address; they fill the segment.
    pub blocks: Vec<BlockSnapshot<K>>,
}

/// A part of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSnapshot<K> {
    /// The first byte.
    pub address: Address,
    /// The size in bytes.
    pub size: u64,
    /// The bytes that were asked for; 0 when inactive.
    pub requested_size: u64,
    /// Its state.
    pub state: BlockState,
    /// The last work on each stream that must be done before it can be handed out again; none unless
    /// it awaits that.
    pub waits_for: Vec<(K, u64)>,
}

/// States of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    /// The program holds it.
    ActiveAllocated,
    /// The program has freed it, and work on another stream may still use it.
    ActiveAwaitingFree,
    /// It can be handed out.
    Inactive,
}
