//! Shows the memory as plain structs.

use std::collections::BTreeMap;

use super::segment::{PartState, ProgramSegment, SegmentPart};
use super::{Suballocated, Suballocator};
use crate::policy::slab::SlabIndex;
use crate::policy::{
    self, Address, BlockSnapshot, BlockState, Inspect, Pool, SegmentUsage, StreamName,
};

/// The work that each waiting block waits for.
type WaitsByBlock<K> = BTreeMap<SlabIndex, Vec<(K, u64)>>;

impl<A: Suballocator<K>, K: StreamName> Inspect for Suballocated<A, K> {
    fn snapshot(&self) -> Vec<policy::SegmentSnapshot<K>> {
        let waits = self.pending.waits();
        let segments = self.segments.iter();
        segments.map(|(address, segment)| self.segment(address, segment, &waits)).collect()
    }

    fn taken(&self) -> Vec<SegmentUsage> {
        self.usages()
    }
}

impl<A: Suballocator<K>, K: StreamName> Suballocated<A, K> {
    fn segment(
        &self,
        address: u64,
        segment: &ProgramSegment<K>,
        waits: &WaitsByBlock<K>,
    ) -> policy::SegmentSnapshot<K> {
        let blocks: Vec<_> =
            segment.parts().map(|(address, part)| self.block(address, part, waits)).collect();
        let bytes = |counts: &dyn Fn(BlockState) -> bool| {
            blocks.iter().filter(|block| counts(block.state)).map(|block| block.size).sum()
        };
        policy::SegmentSnapshot {
            address: Address(address),
            total_size: segment.bytes,
            allocated_size: bytes(&|state| state == BlockState::ActiveAllocated),
            active_size: bytes(&|state| state != BlockState::Inactive),
            requested_size: blocks.iter().map(|block| block.requested_size).sum(),
            stream: Some(segment.stream),
            pool: segment.key.and_then(|owner| owner.pool),
            segment_type: Pool::Large,
            is_expandable: false,
            is_kept: self.is_kept(segment.key),
            blocks,
        }
    }

    fn block(
        &self,
        address: u64,
        part: &SegmentPart<K>,
        waits: &WaitsByBlock<K>,
    ) -> BlockSnapshot<K> {
        let (address, size) = (Address(address), part.bytes);
        let PartState::Taken(slot) = part.state else {
            let (state, waits_for) = (BlockState::Inactive, Vec::new());
            return BlockSnapshot { address, size, requested_size: 0, state, waits_for };
        };
        let record = &self.records[slot];
        BlockSnapshot {
            address,
            size,
            requested_size: record.requested,
            state: match record.is_waiting {
                true => BlockState::ActiveAwaitingFree,
                false => BlockState::ActiveAllocated,
            },
            waits_for: waits.get(&slot).cloned().unwrap_or_default(),
        }
    }
}
