//! An allocator's memory at one moment, for snapshots and out-of-memory errors.

use std::collections::HashMap;

use gpu_runtime::StreamId;

use super::live_allocations::Holder;
use crate::policy::{Address, Segment};

/// An allocator's memory at a moment, with its holders.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) segments: Vec<Segment<StreamId>>,
    /// By address; some may be of memory that is free by now.
    pub(crate) holders: HashMap<Address, Holder>,
    /// How many allocations there were so far.
    pub(crate) allocations: u64,
}
