//! The report of a request that the policy could not serve.

use super::heap::HostBlockState;
use super::{BestFit, size};
use crate::policy::slab::SlabIndex;
use crate::policy::{
    Evidence, OutOfMemoryReport, Retention, SegmentUsage, SourceDenial, StreamName,
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
            largest_free_block: self.heap.largest_free(),
            cached_for_other_streams: 0,
            kept_for_graphs: 0,
            kept_for_pools: 0,
            takes_any: false,
            certificate: Evidence { denial: refused, place: None, usages: self.usages() }.into(),
        }
    }

    /// Each segment.
    pub(super) fn usages(&self) -> Vec<SegmentUsage> {
        self.heap.segments().iter().map(|blocks| self.usage(blocks)).collect()
    }

    fn usage(&self, blocks: &[SlabIndex]) -> SegmentUsage {
        let address = Some(self.heap[blocks[0]].address());
        let mut usage =
            SegmentUsage { address, bytes: 0, held: 0, waiting: 0, retention: Retention::None };
        for block in blocks.iter().map(|slot| &self.heap[*slot]) {
            usage.bytes += block.bytes();
            match block.note.state {
                HostBlockState::Free => continue,
                HostBlockState::Allocated => usage.held += block.bytes(),
                HostBlockState::PendingFrees => usage.waiting += block.bytes(),
            }
            usage.retention = Retention::Allocations;
        }
        usage
    }
}
