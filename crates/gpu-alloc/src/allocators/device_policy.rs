//! The policies that the allocator of a device may follow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use gpu_runtime::StreamId;
use smallvec::SmallVec;

use crate::policy::{
    AllocateError, Block, ForeignBlock, Inspect, LendPermit, MemorySource, MemoryStats, Policy,
    PoolId, Pytorch, SegmentSnapshot, SegmentUsage, Stitched, StreamAndPool, StreamCache,
    Suballocated, Suballocator,
};

/// A suballocator for a device.
pub(crate) type BoxedSuballocator = Box<dyn ErasedSuballocator>;

/// Makes them.
pub(crate) type MakeSuballocator = Box<dyn Fn() -> BoxedSuballocator + Send>;

/// The abilities of such a suballocator.
pub(crate) trait ErasedSuballocator: Suballocator + fmt::Debug + Send {}

impl<A: Suballocator + fmt::Debug + Send> ErasedSuballocator for A {}

/// The policy of a device's allocator.
#[derive(Debug)]
pub(crate) enum DevicePolicy {
    Stitched(Box<Stitched<StreamId>>),
    Pytorch(Box<Pytorch<StreamId>>),
    Suballocated(Box<Suballocated<BoxedSuballocator>>),
}

/// Does the same with whichever policy it is.
macro_rules! any {
    ($any:expr, $policy:ident => $work:expr) => {
        match $any {
            DevicePolicy::Stitched($policy) => $work,
            DevicePolicy::Pytorch($policy) => $work,
            DevicePolicy::Suballocated($policy) => $work,
        }
    };
}

impl DevicePolicy {
    /// Its statistics.
    pub(crate) fn statistics(&self) -> MemoryStats {
        match self {
            DevicePolicy::Stitched(policy) => policy.statistics(),
            DevicePolicy::Pytorch(policy) => policy.statistics().clone(),
            DevicePolicy::Suballocated(policy) => policy.statistics().clone(),
        }
    }

    pub(crate) fn reset_peak_statistics(&mut self) {
        any!(self, policy => policy.reset_peak_statistics());
    }

    pub(crate) fn reset_accumulated_statistics(&mut self) {
        any!(self, policy => policy.reset_accumulated_statistics());
    }

    /// Learns what part of the device's memory may be taken. Whoever refuses more is the source; but
    /// PyTorch's goes by it, too.
    pub(crate) fn set_memory_limit(&mut self, limit: Option<u64>) {
        if let DevicePolicy::Pytorch(policy) = self {
            policy.set_memory_limit(limit);
        }
    }
}

impl Policy for DevicePolicy {
    type Stream = StreamId;
    type Owner = StreamAndPool<StreamId>;

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        owner: StreamAndPool<StreamId>,
    ) -> Result<Block, AllocateError<S::Error>> {
        any!(self, policy => policy.allocate(source, bytes, owner))
    }

    fn free(&mut self, block: Block, uses: &[(StreamId, u64)]) -> Result<(), ForeignBlock> {
        any!(self, policy => policy.free(block, uses))
    }

    fn waits_for(&self, block: &Block) -> impl Iterator<Item = (StreamId, u64)> {
        any!(self, policy => policy.waits_for(block).collect::<Points>()).into_iter()
    }

    fn waits_before_reuse(&self, block: &Block) -> bool {
        any!(self, policy => policy.waits_before_reuse(block))
    }

    fn end_pool(&mut self, pool: PoolId, uses: &[(StreamId, u64)]) {
        any!(self, policy => policy.end_pool(pool, uses));
    }

    fn completed(&mut self, stream: StreamId, sequence: u64) {
        any!(self, policy => policy.completed(stream, sequence));
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        any!(self, policy => policy.release_cached(source))
    }

    fn tick<S: MemorySource>(&mut self, source: &mut S, now: Duration, idle: Duration) -> u64 {
        any!(self, policy => policy.tick(source, now, idle))
    }

    fn awaited_for_reuse(&self) -> impl Iterator<Item = (StreamId, u64)> {
        any!(self, policy => policy.awaited_for_reuse().collect::<Points>()).into_iter()
    }

    fn awaited_for_release(&self) -> impl Iterator<Item = (StreamId, u64)> {
        any!(self, policy => policy.awaited_for_release().collect::<Points>()).into_iter()
    }

    fn lend(&mut self, stream: StreamId, permit: LendPermit) -> Option<Box<StreamCache<StreamId>>> {
        any!(self, policy => policy.lend(stream, permit))
    }

    fn take_back(&mut self, allocator: Box<StreamCache<StreamId>>, permit: LendPermit) {
        any!(self, policy => policy.take_back(allocator, permit));
    }

    fn end_stream(&mut self, stream: StreamId) {
        any!(self, policy => policy.end_stream(stream));
    }

    fn streams(&self) -> BTreeSet<StreamId> {
        any!(self, policy => policy.streams())
    }
}

/// Pieces of work: no more than a few nearly always.
type Points = SmallVec<[(StreamId, u64); 4]>;

impl Inspect for DevicePolicy {
    fn snapshot(&self) -> Vec<SegmentSnapshot<StreamId>> {
        any!(self, policy => policy.snapshot())
    }

    fn reserved_by_pool(&self) -> BTreeMap<PoolId, u64> {
        any!(self, policy => policy.reserved_by_pool())
    }

    fn taken(&self) -> Vec<SegmentUsage> {
        any!(self, policy => policy.taken())
    }
}
