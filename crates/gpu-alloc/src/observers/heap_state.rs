//! An allocator's memory at one moment, for snapshots and out-of-memory errors.

use std::collections::HashMap;

use gpu_runtime::StreamId;

use super::live_allocations::AllocationRecord;
use crate::policy::{Address, SegmentSnapshot};

/// An allocator's memory at a moment, with its holders.
#[derive(Debug, Clone)]
pub(crate) struct HeapState {
    pub(crate) segments: Vec<SegmentSnapshot<StreamId>>,
    /// The records of allocations by address; some may be of memory that is free by now.
    pub(crate) holders: HashMap<Address, AllocationRecord>,
    /// The number of allocations so far.
    pub(crate) allocations: u64,
}
