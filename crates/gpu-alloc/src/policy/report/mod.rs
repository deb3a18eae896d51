//! Reports of a policy's memory: statistics, snapshots, and why a request could not be served.

mod certificate;
mod snapshot;
mod statistics;

pub use self::certificate::{Certificate, ClosestPlace, Evidence, Retention, SegmentUsage};
pub use self::snapshot::{BlockSnapshot, BlockState, Inspect, SegmentSnapshot};
pub use self::statistics::{
    DurationStatistic, HostMemoryStats, MemoryStats, Pool, PoolStatistics, Statistic,
};
use super::{Misplaced, PoolId};

/// Why a request was not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllocateError<E> {
    /// Out of memory, also after everything was released that may be.
    OutOfMemory(Box<OutOfMemoryReport>),
    /// The source failed in another way.
    Source(E),
    /// A program's own allocator was wrong.
    Misplaced(Misplaced),
}

/// The state in which a request could not be served. All sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfMemoryReport {
    /// The bytes that were asked for.
    pub requested: u64,
    /// The size of a block that would have served it.
    pub rounded: u64,
    /// The segments that could have served it, where the policy keeps some for small requests.
    pub segment_type: Option<Pool>,
    /// The bytes that would have done wherever the block lies: so much more of the source, or of
    /// pages, pieces or segments that nobody keeps.
    pub needed: u64,
    /// Held by the program.
    pub allocated: u64,
    /// Freed by the program, but waiting for work on other streams.
    pub pending: u64,
    /// Taken from the source: the two above, and what is kept for reuse.
    pub reserved: u64,
    /// The largest block that it would have been given: a policy may keep larger ones whole.
    pub largest_suitable: u64,
    /// The largest block that is kept and that a request of this kind could get, too small for this
    /// one.
    pub largest_free_block: u64,
    /// Kept for requests on other streams.
    pub cached_for_other_streams: u64,
    /// Free, and kept for graphs.
    pub kept_for_graphs: u64,
    /// Free, and kept for those who are in a pool of the program's.
    pub kept_for_pools: u64,
    /// Whether free memory would have served whatever stream and kind of request it was freed by, but
    /// for what is kept for graphs or pools.
    pub takes_any: bool,
    /// The proof that nothing else would have done.
    pub certificate: Certificate,
}

impl OutOfMemoryReport {
    /// The bytes kept for reuse by anybody.
    pub fn cached(&self) -> u64 {
        let kept = self.kept_for_graphs + self.kept_for_pools;
        self.reserved.saturating_sub(self.allocated + self.pending + kept)
    }
}
