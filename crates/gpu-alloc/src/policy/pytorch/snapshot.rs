//! Shows the memory of PyTorch's policy as plain structs.

use std::collections::BTreeMap;

use super::Pytorch;
use super::heap::{HeapBlock, StreamBlockState};
use crate::policy::slab::SlabIndex;
use crate::policy::{
    BlockSnapshot, BlockState, Inspect, PoolId, SegmentSnapshot, SegmentUsage, StreamName,
};

impl<K: StreamName> Inspect for Pytorch<K> {
    fn snapshot(&self) -> Vec<SegmentSnapshot<K>> {
        let waits = self.pending.waits();
        let runs = self.heap.mapped_runs();
        let mut segments: Vec<_> = runs.map(|run| self.segment(&run, &waits)).collect();
        segments.sort_by_key(|segment| segment.address);
        segments
    }

    fn reserved_by_pool(&self) -> BTreeMap<PoolId, u64> {
        let mut reserved = BTreeMap::new();
        for block in self.heap.iter().filter(|block| block.note.is_mapped()) {
            if let Some(pool) = block.note.owner.pool {
                *reserved.entry(pool.id()).or_default() += block.bytes();
            }
        }
        reserved
    }

    fn taken(&self) -> Vec<SegmentUsage> {
        self.usages()
    }
}

impl<K: StreamName> Pytorch<K> {
    fn segment(
        &self,
        run: &[SlabIndex],
        waits: &BTreeMap<SlabIndex, Vec<(K, u64)>>,
    ) -> SegmentSnapshot<K> {
        let waits_for = |slot| waits.get(slot).cloned().unwrap_or_default();
        let blocks = run.iter().map(|slot| block_snapshot(&self.heap[*slot], waits_for(slot)));
        let blocks: Vec<_> = blocks.collect();
        let first = &self.heap[run[0]];
        let owner = first.note.owner;
        let allocated = |block: &&BlockSnapshot<K>| block.state == BlockState::ActiveAllocated;
        let active = |block: &&BlockSnapshot<K>| block.state != BlockState::Inactive;
        SegmentSnapshot {
            address: first.address(),
            total_size: blocks.iter().map(|block| block.size).sum(),
            allocated_size: blocks.iter().filter(allocated).map(|block| block.size).sum(),
            active_size: blocks.iter().filter(active).map(|block| block.size).sum(),
            requested_size: blocks.iter().map(|block| block.requested_size).sum(),
            stream: Some(owner.stream),
            pool: owner.pool,
            segment_type: first.note.pool,
            is_expandable: first.note.range.is_some(),
            is_kept: self.pools.keeper(owner.pool).is_some(),
            blocks,
        }
    }
}

fn block_snapshot<K>(block: &HeapBlock<K>, waits_for: Vec<(K, u64)>) -> BlockSnapshot<K> {
    BlockSnapshot {
        address: block.address(),
        size: block.bytes(),
        requested_size: block.note.requested,
        state: match block.note.state {
            StreamBlockState::Free | StreamBlockState::Unmapped => BlockState::Inactive,
            StreamBlockState::Allocated => BlockState::ActiveAllocated,
            StreamBlockState::PendingFrees => BlockState::ActiveAwaitingFree,
        },
        waits_for,
    }
}
