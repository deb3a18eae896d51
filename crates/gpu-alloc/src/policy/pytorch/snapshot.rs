//! Shows the memory of PyTorch's policy as plain structs.

use std::collections::BTreeMap;

use super::{LinkedBlock, LinkedBlockState, Pytorch};
use crate::policy::slab::SlabIndex;
use crate::policy::{
    BlockSnapshot, BlockState, Inspect, PoolId, SegmentSnapshot, SegmentUsage, StreamName,
};

impl<K: StreamName> Inspect for Pytorch<K> {
    fn snapshot(&self) -> Vec<SegmentSnapshot<K>> {
        let waits = self.pending.waits();
        let is_mapped = |slot: SlabIndex| self.blocks[slot].state != LinkedBlockState::Unmapped;
        let heads = self
            .blocks
            .entries()
            .filter(|(slot, block)| is_mapped(*slot) && !block.previous.is_some_and(is_mapped));
        let mut segments: Vec<_> = heads.map(|head| self.segment(head, &waits)).collect();
        segments.sort_by_key(|segment| segment.address);
        segments
    }

    fn reserved_by_pool(&self) -> BTreeMap<PoolId, u64> {
        let mut reserved = BTreeMap::new();
        for (_, block) in self.blocks.entries() {
            if let Some(pool) =
                block.owner.pool.filter(|_| block.state != LinkedBlockState::Unmapped)
            {
                *reserved.entry(pool.id()).or_default() += block.bytes;
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
        (first, head): (SlabIndex, &LinkedBlock<K>),
        waits: &BTreeMap<SlabIndex, Vec<(K, u64)>>,
    ) -> SegmentSnapshot<K> {
        let is_mapped = |slot: &SlabIndex| self.blocks[*slot].state != LinkedBlockState::Unmapped;
        let next = |slot: &SlabIndex| self.blocks[*slot].next.filter(is_mapped);
        let slots = std::iter::successors(Some(first), next);
        let waits_for = |slot| waits.get(&slot).cloned().unwrap_or_default();
        let blocks: Vec<_> =
            slots.map(|slot| block_snapshot(&self.blocks[slot], waits_for(slot))).collect();
        let allocated = |block: &&BlockSnapshot<K>| block.state == BlockState::ActiveAllocated;
        let active = |block: &&BlockSnapshot<K>| block.state != BlockState::Inactive;
        SegmentSnapshot {
            address: head.address,
            total_size: blocks.iter().map(|block| block.size).sum(),
            allocated_size: blocks.iter().filter(allocated).map(|block| block.size).sum(),
            active_size: blocks.iter().filter(active).map(|block| block.size).sum(),
            requested_size: blocks.iter().map(|block| block.requested_size).sum(),
            stream: Some(head.owner.stream),
            pool: head.owner.pool,
            segment_type: head.pool,
            is_expandable: head.range.is_some(),
            is_kept: self.is_kept(head.owner),
            blocks,
        }
    }
}

fn block_snapshot<K>(block: &LinkedBlock<K>, waits_for: Vec<(K, u64)>) -> BlockSnapshot<K> {
    BlockSnapshot {
        address: block.address,
        size: block.bytes,
        requested_size: block.requested,
        state: match block.state {
            LinkedBlockState::Free | LinkedBlockState::Unmapped => BlockState::Inactive,
            LinkedBlockState::Allocated => BlockState::ActiveAllocated,
            LinkedBlockState::PendingFrees => BlockState::ActiveAwaitingFree,
        },
        waits_for,
    }
}
