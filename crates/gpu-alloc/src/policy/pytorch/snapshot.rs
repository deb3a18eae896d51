//! Shows PyTorch's native policy's memory as plain structs.

use std::collections::BTreeMap;

use super::{Pytorch, Record, State};
use crate::policy::slab::Slot;
use crate::policy::{BlockSnapshot, BlockState, Inspect, Segment, StreamName};

impl<K: StreamName> Inspect for Pytorch<K> {
    fn snapshot(&self) -> Vec<Segment<K>> {
        let waits = self.pending.waits();
        let heads = self.blocks.entries().filter(|(_, block)| block.previous.is_none());
        let mut segments: Vec<_> = heads.map(|head| self.segment(head, &waits)).collect();
        segments.sort_by_key(|segment| segment.address);
        segments
    }
}

impl<K: StreamName> Pytorch<K> {
    fn segment(
        &self,
        (first, head): (Slot, &Record<K>),
        waits: &BTreeMap<Slot, Vec<(K, u64)>>,
    ) -> Segment<K> {
        let slots = std::iter::successors(Some(first), |slot| self.blocks[*slot].next);
        let waits_for = |slot| waits.get(&slot).cloned().unwrap_or_default();
        let blocks: Vec<_> =
            slots.map(|slot| block_snapshot(&self.blocks[slot], waits_for(slot))).collect();
        let allocated = |block: &&BlockSnapshot<K>| block.state == BlockState::ActiveAllocated;
        let active = |block: &&BlockSnapshot<K>| block.state != BlockState::Inactive;
        Segment {
            address: head.address,
            total_size: blocks.iter().map(|block| block.size).sum(),
            allocated_size: blocks.iter().filter(allocated).map(|block| block.size).sum(),
            active_size: blocks.iter().filter(active).map(|block| block.size).sum(),
            requested_size: blocks.iter().map(|block| block.requested_size).sum(),
            stream: head.home.stream,
            pool: head.home.pool,
            segment_type: head.pool,
            is_expandable: false,
            is_kept: self.is_of_graphs(head.home),
            blocks,
        }
    }
}

fn block_snapshot<K>(block: &Record<K>, waits_for: Vec<(K, u64)>) -> BlockSnapshot<K> {
    BlockSnapshot {
        address: block.address,
        size: block.bytes,
        requested_size: block.requested,
        state: match block.state {
            State::Free => BlockState::Inactive,
            State::Allocated => BlockState::ActiveAllocated,
            State::Pending => BlockState::ActiveAwaitingFree,
        },
        waits_for,
    }
}
