//! The report of a request that the policy could not serve.

use super::{BestFit, SegmentBlockState, size};
use crate::policy::slab::SlabIndex;
use crate::policy::{
    Certificate, OutOfMemoryReport, Retention, SegmentUsage, SourceDenial, StreamName,
};

impl<K: StreamName> BestFit<K> {
    pub(super) fn out_of_memory(
        &self,
        requested: u64,
        size: u64,
        refused: SourceDenial,
    ) -> OutOfMemoryReport {
        OutOfMemoryReport {
            requested,
            rounded: size,
            segment_type: None,
            needed: size::in_pages(size),
            largest_suitable: u64::MAX,
            allocated: self.statistics.active_bytes.current - self.pending_bytes,
            pending: self.pending_bytes,
            reserved: self.statistics.allocated_bytes.current,
            largest_free_block: self.free.last().map_or(0, |free| free.bytes),
            cached_for_other_streams: 0,
            kept_for_graphs: 0,
            kept_for_pools: 0,
            takes_any: false,
            certificate: Certificate { denial: refused, place: None, usages: self.usages() },
        }
    }

    /// Each segment.
    pub(super) fn usages(&self) -> Vec<SegmentUsage> {
        let heads = self.blocks.entries().filter(|(_, block)| block.previous.is_none());
        let mut usages: Vec<_> = heads.map(|(slot, _)| self.usage(slot)).collect();
        usages.sort_unstable_by_key(|usage| usage.address);
        usages
    }

    fn usage(&self, first: SlabIndex) -> SegmentUsage {
        let blocks = std::iter::successors(Some(first), |slot| self.blocks[*slot].next);
        let address = Some(self.blocks[first].address);
        let mut usage =
            SegmentUsage { address, bytes: 0, held: 0, waiting: 0, retention: Retention::None };
        for block in blocks.map(|slot| &self.blocks[slot]) {
            usage.bytes += block.bytes;
            match block.state {
                SegmentBlockState::Free => continue,
                SegmentBlockState::Allocated => usage.held += block.bytes,
                SegmentBlockState::PendingFrees => usage.waiting += block.bytes,
            }
            usage.retention = Retention::Allocations;
        }
        usage
    }
}
