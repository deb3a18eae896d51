//! Plain structs that show a policy's memory, segment by segment.

use super::{Address, Pool, PoolId};

/// Memory that was taken from the source in one piece. The fields have PyTorch's names; sizes are
/// in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment<K> {
    /// The first byte.
    pub address: Address,
    /// The size of all blocks together.
    pub total_size: u64,
    /// The part that the program holds.
    pub allocated_size: u64,
    /// The part that the program holds, or has freed while other streams still use it.
    pub active_size: u64,
    /// What was asked for, of the active part, before rounding.
    pub requested_size: u64,
    /// The stream that the segment's memory is handed out to.
    pub stream: K,
    /// The pool that is kept apart for graphs, if the segment belongs to one.
    pub pool: Option<PoolId>,
    /// Whether it serves small or large requests.
    pub segment_type: Pool,
    /// The blocks, by address; they fill the segment.
    pub blocks: Vec<BlockSnapshot>,
}

/// A part of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSnapshot {
    /// The first byte.
    pub address: Address,
    /// The size in bytes.
    pub size: u64,
    /// The bytes that were asked for; 0 when inactive.
    pub requested_size: u64,
    /// What it is doing.
    pub state: BlockState,
}

/// What a block is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    /// The program holds it.
    ActiveAllocated,
    /// The program has freed it, and work on another stream may still use it.
    ActiveAwaitingFree,
    /// It can be handed out.
    Inactive,
}
