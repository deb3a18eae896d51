//! The report of a request that PyTorch's policy could not serve.

use super::free_set::FreeBlockKey;
use super::size::RequestSize;
use super::{LinkedBlock, LinkedBlockState, Pytorch};
use crate::policy::slab::SlabIndex;
use crate::policy::{
    Address, Certificate, ClosestPlace, OutOfMemoryReport, PoolOf, Retention, SegmentUsage,
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
        let allocated = self.statistics.allocated_bytes.all.current;
        let fits = self.free_set(size.pool).iter().filter(|free| free.owner == owner);
        let elsewhere = || {
            let free = self.small.iter().chain(self.large.iter());
            free.filter(|free| free.owner != owner)
        };
        let kept_for = |counts: fn(&PoolOf) -> bool| {
            let is_kept =
                |free: &&FreeBlockKey<K>| self.keeper(free.owner).as_ref().is_some_and(counts);
            elsewhere().filter(is_kept).map(|free| free.bytes).sum()
        };
        OutOfMemoryReport {
            requested,
            rounded: size.rounded,
            segment_type: Some(size.pool),
            needed: self.sizes.fresh(size, self.expandable.is_some()),
            largest_suitable: self.sizes.largest_suitable(size),
            allocated,
            pending: self.statistics.active_bytes.all.current - allocated,
            reserved: self.statistics.reserved_bytes.all.current,
            largest_free_block: fits.map(|free| free.bytes).max().unwrap_or(0),
            cached_for_other_streams: elsewhere()
                .filter(|free| !self.is_kept(free.owner))
                .map(|free| free.bytes)
                .sum(),
            kept_for_graphs: kept_for(|pool| matches!(pool, PoolOf::Graphs(_))),
            kept_for_pools: kept_for(|pool| matches!(pool, PoolOf::Program(_))),
            takes_any: false,
            certificate: Certificate {
                denial: refused,
                place: self.place(size, owner, refused),
                usages: self.usages(),
            },
        }
    }

    /// The place that the request would have been given.
    fn place(
        &self,
        size: RequestSize,
        owner: StreamAndPool<K>,
        refused: SourceDenial,
    ) -> Option<ClosestPlace> {
        let slot = self.lowest_room(size, owner)?;
        let page_bytes = self.sizes.page(size.pool);
        let mut missing = 0;
        let (mut left, mut next) = (size.rounded, Some(slot));
        while let Some(slot) = next.filter(|_| left > 0) {
            let block = &self.blocks[slot];
            let taken = block.bytes.min(left);
            if block.state == LinkedBlockState::Unmapped {
                missing += taken.div_ceil(page_bytes);
            }
            (left, next) = (left - taken, block.next);
        }
        let address = self.blocks[slot].address;
        let start = self.offset_in_page(slot)?;
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
        let is_mapped = |slot: &SlabIndex| self.blocks[*slot].state != LinkedBlockState::Unmapped;
        let next = |slot: &SlabIndex| self.blocks[*slot].next.filter(is_mapped);
        let heads = self.blocks.entries().filter(|(slot, block)| {
            is_mapped(slot) && !block.previous.is_some_and(|previous| is_mapped(&previous))
        });
        let mut usages = Vec::new();
        for (head, LinkedBlock { address, range, pool, .. }) in heads {
            let slots: Vec<_> = std::iter::successors(Some(head), next).collect();
            let bytes = slots.iter().map(|slot| self.blocks[*slot].bytes).sum();
            let each = if range.is_some() { self.sizes.page(*pool) } else { bytes };
            let starts = (address.0..address.0 + bytes).step_by(each as usize);
            let mut from = 0;
            for start in starts {
                while self.end_of(slots[from]) <= start {
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
        let (mut held, mut waiting, mut is_past) = (0, 0, true);
        let inside = blocks.iter().take_while(|slot| self.blocks[**slot].address.0 < start + bytes);
        for slot in inside {
            let block = &self.blocks[*slot];
            let part = self.end_of(*slot).min(start + bytes) - block.address.0.max(start);
            match block.state {
                LinkedBlockState::Allocated => held += part,
                LinkedBlockState::PendingFrees => waiting += part,
                LinkedBlockState::Free | LinkedBlockState::Unmapped => {
                    is_past &= self.is_past(*slot)
                }
            }
        }
        let retention = match self.keeper(self.blocks[blocks[0]].owner) {
            Some(pool) => pool.into(),
            None if held + waiting > 0 => Retention::Allocations,
            None if !is_past => Retention::Work,
            None => Retention::None,
        };
        SegmentUsage { address: Some(Address(start)), bytes, held, waiting, retention }
    }

    fn end_of(&self, slot: SlabIndex) -> u64 {
        self.blocks[slot].address.0 + self.blocks[slot].bytes
    }
}
