//! The report of a request that PyTorch's policy could not serve.

use super::Pytorch;
use super::free_set::FreeBlockKey;
use super::heap::StreamBlockState;
use super::size::RequestSize;
use crate::policy::slab::SlabIndex;
use crate::policy::{
    Address, ClosestPlace, Evidence, OutOfMemoryReport, PoolOf, Retention, SegmentUsage,
    SourceDenial, StreamAndPool, StreamName,
};

impl<K: StreamName> Pytorch<K> {
    pub(super) fn out_of_memory(
        &self,
        requested: u64,
        size: RequestSize,
        owner: StreamAndPool<K>,
        refused: SourceDenial,
    ) -> OutOfMemoryReport {
        let fits = self.heap.free_set(size.pool).iter().filter(|free| free.owner == owner);
        let elsewhere = || self.heap.free_blocks().filter(|free| free.owner != owner);
        let keeper = |free: &FreeBlockKey<K>| self.pools.keeper(free.owner.pool);
        let kept_for = |counts: fn(&PoolOf) -> bool| {
            let is_kept = |free: &&FreeBlockKey<K>| keeper(free).as_ref().is_some_and(counts);
            elsewhere().filter(is_kept).map(|free| free.bytes).sum()
        };
        OutOfMemoryReport {
            requested,
            rounded: size.rounded,
            segment_type: Some(size.pool),
            needed: self.sizes.fresh(size, self.expandable.is_some()),
            largest_suitable: self.sizes.largest_suitable(size),
            allocated: self.accounts.held(),
            pending: self.accounts.pending(),
            reserved: self.accounts.reserved(),
            largest_free_block: fits.map(|free| free.bytes).max().unwrap_or(0),
            cached_for_other_streams: elsewhere()
                .filter(|free| keeper(free).is_none())
                .map(|free| free.bytes)
                .sum(),
            kept_for_graphs: kept_for(|pool| matches!(pool, PoolOf::Graphs(_))),
            kept_for_pools: kept_for(|pool| matches!(pool, PoolOf::Program(_))),
            takes_any: false,
            certificate: Evidence {
                denial: refused,
                place: self.place(size, owner, refused),
                usages: self.usages(),
            }
            .into(),
        }
    }

    /// The place that the request would have been given.
    fn place(
        &self,
        size: RequestSize,
        owner: StreamAndPool<K>,
        refused: SourceDenial,
    ) -> Option<ClosestPlace> {
        let expandable = self.expandable.as_ref()?;
        let slot = self.heap.lowest_room(size, owner)?;
        let page_bytes = self.sizes.page(size.pool);
        let mut missing = 0;
        let (mut left, mut next) = (size.rounded, Some(slot));
        while let Some(slot) = next.filter(|_| left > 0) {
            let block = &self.heap[slot];
            let taken = block.bytes().min(left);
            if !block.note.is_mapped() {
                missing += taken.div_ceil(page_bytes);
            }
            (left, next) = (left - taken, block.next());
        }
        let address = self.heap[slot].address();
        let start = expandable.offset_in_page(&self.heap[slot])?;
        Some(ClosestPlace {
            address,
            page_bytes,
            pages: start.saturating_add(size.rounded).div_ceil(page_bytes),
            missing,
            supply: refused.given / page_bytes,
        })
    }

    /// Each segment, and each page of those that expand.
    pub(super) fn usages(&self) -> Vec<SegmentUsage> {
        let mut usages = Vec::new();
        for slots in self.heap.mapped_runs() {
            let first = &self.heap[slots[0]];
            let address = first.address().0;
            let bytes = slots.iter().map(|slot| self.heap[*slot].bytes()).sum();
            let is_expandable = first.note.range.is_some();
            let each = if is_expandable { self.sizes.page(first.note.pool) } else { bytes };
            let mut from = 0;
            for start in (address..address + bytes).step_by(each as usize) {
                while self.heap[slots[from]].end() <= start {
                    from += 1;
                }
                usages.push(self.usage(start, each, &slots[from..]));
            }
        }
        usages.sort_unstable_by_key(|usage: &SegmentUsage| usage.address);
        usages
    }

    /// A segment or a page, by the blocks from the first on that reaches into it.
    fn usage(&self, start: u64, bytes: u64, blocks: &[SlabIndex]) -> SegmentUsage {
        let end = start + bytes;
        let (mut held, mut waiting, mut is_past) = (0, 0, true);
        let inside = blocks.iter().take_while(|slot| self.heap[**slot].address().0 < end);
        for slot in inside {
            let block = &self.heap[*slot];
            let part = block.end().min(end) - block.address().0.max(start);
            match block.note.state {
                StreamBlockState::Allocated => held += part,
                StreamBlockState::PendingFrees => waiting += part,
                StreamBlockState::Free | StreamBlockState::Unmapped => {
                    is_past &= self.is_past(*slot)
                }
            }
        }
        let retention = match self.pools.keeper(self.heap[blocks[0]].note.owner.pool) {
            Some(pool) => pool.into(),
            None if held + waiting > 0 => Retention::Allocations,
            None if !is_past => Retention::Work,
            None => Retention::None,
        };
        SegmentUsage { address: Some(Address(start)), bytes, held, waiting, retention }
    }
}
