//! The nodes of graphs, as observers and errors know them.

use std::panic::Location;

use super::{MemoryAccess, StreamId, Work};

/// A piece of work in a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphNode {
    /// The work.
    pub work: Work,
    /// The stream from which it was captured.
    pub stream: StreamId,
    /// The place in the source that asked for it.
    pub place: &'static Location<'static>,
    /// The memory that it reads and writes, as far as that is known.
    pub accesses: Box<[MemoryAccess]>,
}
