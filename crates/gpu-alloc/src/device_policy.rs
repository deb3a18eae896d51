//! The policies that the allocator of a device may follow.

use std::collections::BTreeSet;
use std::time::Duration;

use gpu_runtime::StreamId;

use crate::policy::{
    AllocateError, Block, ForeignBlock, Home, Inspect, Lane, MemorySource, MemoryStats, Policy,
    PoolId, Pytorch, Segment, Stitched,
};

/// The policy of a device's allocator.
#[derive(Debug)]
pub(crate) enum DevicePolicy {
    Stitched(Box<Stitched<StreamId>>),
    Pytorch(Box<Pytorch<StreamId>>),
}

impl DevicePolicy {
    /// What it has done and holds.
    pub(crate) fn statistics(&self) -> MemoryStats {
        match self {
            DevicePolicy::Stitched(policy) => policy.statistics(),
            DevicePolicy::Pytorch(policy) => policy.statistics().clone(),
        }
    }

    pub(crate) fn reset_peak_statistics(&mut self) {
        match self {
            DevicePolicy::Stitched(policy) => policy.reset_peak_statistics(),
            DevicePolicy::Pytorch(policy) => policy.reset_peak_statistics(),
        }
    }

    pub(crate) fn reset_accumulated_statistics(&mut self) {
        match self {
            DevicePolicy::Stitched(policy) => policy.reset_accumulated_statistics(),
            DevicePolicy::Pytorch(policy) => policy.reset_accumulated_statistics(),
        }
    }

    /// Learns what part of the device's memory may be taken.
    pub(crate) fn set_memory_limit(&mut self, limit: Option<u64>) {
        match self {
            // Whoever refuses more is the source.
            DevicePolicy::Stitched(_) => {}
            DevicePolicy::Pytorch(policy) => policy.set_memory_limit(limit),
        }
    }

    /// Either policy, and nothing for the other.
    fn either(&self) -> (Option<&Stitched<StreamId>>, Option<&Pytorch<StreamId>>) {
        match self {
            DevicePolicy::Stitched(policy) => (Some(&**policy), None),
            DevicePolicy::Pytorch(policy) => (None, Some(&**policy)),
        }
    }
}

impl Policy for DevicePolicy {
    type Stream = StreamId;
    type Home = Home<StreamId>;

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        home: Home<StreamId>,
    ) -> Result<Block, AllocateError<S::Error>> {
        match self {
            DevicePolicy::Stitched(policy) => policy.allocate(source, bytes, home),
            DevicePolicy::Pytorch(policy) => policy.allocate(source, bytes, home),
        }
    }

    fn free(&mut self, block: Block, uses: &[(StreamId, u64)]) -> Result<(), ForeignBlock> {
        match self {
            DevicePolicy::Stitched(policy) => policy.free(block, uses),
            DevicePolicy::Pytorch(policy) => policy.free(block, uses),
        }
    }

    fn waits_for(&self, block: &Block) -> impl Iterator<Item = (StreamId, u64)> {
        let (stitched, pytorch) = self.either();
        let stitched = stitched.into_iter().flat_map(|policy| policy.waits_for(block));
        stitched.chain(pytorch.into_iter().flat_map(|policy| policy.waits_for(block)))
    }

    fn waits_before_reuse(&self, block: &Block) -> bool {
        match self {
            DevicePolicy::Stitched(policy) => policy.waits_before_reuse(block),
            DevicePolicy::Pytorch(policy) => policy.waits_before_reuse(block),
        }
    }

    fn end_pool(&mut self, pool: PoolId, uses: &[(StreamId, u64)]) {
        match self {
            DevicePolicy::Stitched(policy) => policy.end_pool(pool, uses),
            DevicePolicy::Pytorch(policy) => policy.end_pool(pool, uses),
        }
    }

    fn completed(&mut self, stream: StreamId, sequence: u64) {
        match self {
            DevicePolicy::Stitched(policy) => policy.completed(stream, sequence),
            DevicePolicy::Pytorch(policy) => policy.completed(stream, sequence),
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        match self {
            DevicePolicy::Stitched(policy) => policy.release_cached(source),
            DevicePolicy::Pytorch(policy) => policy.release_cached(source),
        }
    }

    fn tick<S: MemorySource>(&mut self, source: &mut S, now: Duration, idle: Duration) -> u64 {
        match self {
            DevicePolicy::Stitched(policy) => policy.tick(source, now, idle),
            DevicePolicy::Pytorch(policy) => policy.tick(source, now, idle),
        }
    }

    fn awaited_for_reuse(&self) -> impl Iterator<Item = (StreamId, u64)> {
        let (stitched, pytorch) = self.either();
        let stitched = stitched.into_iter().flat_map(Policy::awaited_for_reuse);
        stitched.chain(pytorch.into_iter().flat_map(Policy::awaited_for_reuse))
    }

    fn awaited_for_release(&self) -> impl Iterator<Item = (StreamId, u64)> {
        let (stitched, pytorch) = self.either();
        let stitched = stitched.into_iter().flat_map(Policy::awaited_for_release);
        stitched.chain(pytorch.into_iter().flat_map(Policy::awaited_for_release))
    }

    fn lend(&mut self, stream: StreamId) -> Option<Box<Lane<StreamId>>> {
        match self {
            DevicePolicy::Stitched(policy) => policy.lend(stream),
            DevicePolicy::Pytorch(policy) => policy.lend(stream),
        }
    }

    fn take_back(&mut self, lane: Box<Lane<StreamId>>) {
        match self {
            DevicePolicy::Stitched(policy) => policy.take_back(lane),
            DevicePolicy::Pytorch(policy) => policy.take_back(lane),
        }
    }

    fn streams(&self) -> BTreeSet<StreamId> {
        match self {
            DevicePolicy::Stitched(policy) => policy.streams(),
            DevicePolicy::Pytorch(policy) => policy.streams(),
        }
    }
}

impl Inspect for DevicePolicy {
    fn snapshot(&self) -> Vec<Segment<StreamId>> {
        match self {
            DevicePolicy::Stitched(policy) => policy.snapshot(),
            DevicePolicy::Pytorch(policy) => policy.snapshot(),
        }
    }
}
