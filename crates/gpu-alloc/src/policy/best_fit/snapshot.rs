//! Shows what the policy has.

use std::iter;

use super::{BestFit, SegmentBlock, SegmentBlockState};
use crate::policy::{
    BlockSnapshot, BlockState, Inspect, Pool, SegmentSnapshot, SegmentUsage, StreamName,
};

impl<K: StreamName> Inspect for BestFit<K> {
    fn snapshot(&self) -> Vec<SegmentSnapshot<K>> {
        let mut waits = self.pending.waits();
        let heads = self.blocks.entries().filter(|(_, record)| record.previous.is_none());
        let mut segments: Vec<_> = heads
            .map(|(head, SegmentBlock { address, .. })| {
                let slots = iter::successors(Some(head), |slot| self.blocks[*slot].next);
                let blocks: Vec<_> = slots
                    .map(|slot| {
                        let SegmentBlock { address, bytes, requested, state, .. } =
                            self.blocks[slot];
                        BlockSnapshot {
                            address,
                            size: bytes,
                            requested_size: if state == SegmentBlockState::Free {
                                0
                            } else {
                                requested
                            },
                            state: match state {
                                SegmentBlockState::Free => BlockState::Inactive,
                                SegmentBlockState::Allocated => BlockState::ActiveAllocated,
                                SegmentBlockState::PendingFrees => BlockState::ActiveAwaitingFree,
                            },
                            waits_for: waits.remove(&slot).unwrap_or_default(),
                        }
                    })
                    .collect();
                let sum = |of: fn(&BlockSnapshot<K>) -> u64| blocks.iter().map(of).sum();
                SegmentSnapshot {
                    address: *address,
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
            })
            .collect();
        segments.sort_unstable_by_key(|segment| segment.address);
        segments
    }

    fn taken(&self) -> Vec<SegmentUsage> {
        self.usages()
    }
}
