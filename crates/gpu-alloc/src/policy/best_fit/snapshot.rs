//! Shows what the policy has.

use std::collections::BTreeMap;

use super::BestFit;
use super::heap::HostBlockState;
use crate::policy::slab::SlabIndex;
use crate::policy::{
    BlockSnapshot, BlockState, Inspect, Pool, SegmentSnapshot, SegmentUsage, StreamName,
};

impl<K: StreamName> Inspect for BestFit<K> {
    fn snapshot(&self) -> Vec<SegmentSnapshot<K>> {
        let waits = self.pending.waits();
        self.heap.segments().iter().map(|blocks| self.segment(blocks, &waits)).collect()
    }

    fn taken(&self) -> Vec<SegmentUsage> {
        self.usages()
    }
}

impl<K: StreamName> BestFit<K> {
    fn segment(
        &self,
        blocks: &[SlabIndex],
        waits: &BTreeMap<SlabIndex, Vec<(K, u64)>>,
    ) -> SegmentSnapshot<K> {
        let waits_for = |slot| waits.get(slot).cloned().unwrap_or_default();
        let blocks: Vec<_> = blocks.iter().map(|slot| self.block(*slot, waits_for(slot))).collect();
        let sum = |of: fn(&BlockSnapshot<K>) -> u64| blocks.iter().map(of).sum();
        SegmentSnapshot {
            address: blocks[0].address,
            total_size: sum(|block| block.size),
            allocated_size: sum(|block| match block.state {
                BlockState::ActiveAllocated => block.size,
                _ => 0,
            }),
            active_size: sum(|block| match block.state {
                BlockState::Inactive => 0,
                _ => block.size,
            }),
            requested_size: sum(|block| block.requested_size),
            stream: None,
            pool: None,
            segment_type: Pool::Large,
            is_expandable: false,
            is_kept: false,
            blocks,
        }
    }

    fn block(&self, slot: SlabIndex, waits_for: Vec<(K, u64)>) -> BlockSnapshot<K> {
        let block = &self.heap[slot];
        BlockSnapshot {
            address: block.address(),
            size: block.bytes(),
            requested_size: block.note.requested,
            state: match block.note.state {
                HostBlockState::Free => BlockState::Inactive,
                HostBlockState::Allocated => BlockState::ActiveAllocated,
                HostBlockState::PendingFrees => BlockState::ActiveAwaitingFree,
            },
            waits_for,
        }
    }
}
