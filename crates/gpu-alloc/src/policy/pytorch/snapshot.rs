//! Shows PyTorch's native policy's memory as plain structs.

use super::{Pytorch, Record, State};
use crate::policy::{BlockSnapshot, BlockState, Segment, StreamName};

impl<K: StreamName> Pytorch<K> {
    /// Every segment with its blocks, by address.
    pub fn snapshot(&self) -> Vec<Segment<K>> {
        let heads = self.blocks.iter().filter(|block| block.previous.is_none());
        let mut segments: Vec<_> = heads.map(|head| self.segment(head)).collect();
        segments.sort_by_key(|segment| segment.address);
        segments
    }

    fn segment(&self, head: &Record<K>) -> Segment<K> {
        let records = std::iter::successors(Some(head), |block| Some(&self.blocks[block.next?]));
        let blocks: Vec<_> = records.map(block_snapshot).collect();
        let allocated = |block: &&BlockSnapshot| block.state == BlockState::ActiveAllocated;
        let active = |block: &&BlockSnapshot| block.state != BlockState::Inactive;
        Segment {
            address: head.address,
            total_size: blocks.iter().map(|block| block.size).sum(),
            allocated_size: blocks.iter().filter(allocated).map(|block| block.size).sum(),
            active_size: blocks.iter().filter(active).map(|block| block.size).sum(),
            requested_size: blocks.iter().map(|block| block.requested_size).sum(),
            stream: head.home.stream,
            pool: head.home.pool,
            segment_type: head.pool,
            blocks,
        }
    }
}

fn block_snapshot<K>(block: &Record<K>) -> BlockSnapshot {
    BlockSnapshot {
        address: block.address,
        size: block.bytes,
        requested_size: block.requested,
        state: match block.state {
            State::Free => BlockState::Inactive,
            State::Allocated => BlockState::ActiveAllocated,
            State::Pending => BlockState::ActiveAwaitingFree,
        },
    }
}
