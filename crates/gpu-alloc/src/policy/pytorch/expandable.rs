//! Expandable segments: memory mapped page by page, so that what is free can grow.

use super::heap::{BlockHeap, HeapBlock};
use super::range::ExpandableRange;
use super::size::RequestSize;
use crate::policy::segment_accounts::SegmentAccounts;
use crate::policy::slab::{Slab, SlabIndex};
use crate::policy::source::Unable;
use crate::policy::{Address, StreamAndPool, StreamName, VirtualMemorySource};

/// The ranges of reserved addresses, and the memory mapped in them.
#[derive(Debug)]
pub(super) struct ExpandableSegments {
    /// The number of addresses that a range has, at least: more than there can be memory, as free
    /// pages in its middle may be moved to its end. PyTorch reserves an eighth more than the device
    /// has for the same reason.
    range_bytes: u64,
    ranges: Slab<ExpandableRange>,
}

impl ExpandableSegments {
    pub(super) fn new(device_bytes: u64) -> Self {
        let range_bytes = device_bytes.saturating_add(device_bytes / 8);
        ExpandableSegments { range_bytes, ranges: Slab::default() }
    }

    /// A free block, taken from its set, that begins as low as memory can be mapped for it. What was
    /// mapped before an error stays, and is free.
    pub(super) fn expand<K: StreamName, E>(
        &mut self,
        (heap, accounts): (&mut BlockHeap<K>, &mut SegmentAccounts),
        memory: &mut dyn VirtualMemorySource<Error = E>,
        (size, page): (RequestSize, u64),
        owner: StreamAndPool<K>,
    ) -> Result<SlabIndex, Unable<E>> {
        let mut slot = match heap.lowest_room(size, owner) {
            Some(slot) => slot,
            None => self.new_range(heap, memory, (size, page), owner)?,
        };
        if !heap[slot].note.is_mapped() {
            slot = self.map(heap, accounts, memory, slot, size.rounded)?;
        }
        while heap[slot].bytes() < size.rounded {
            let missing = size.rounded - heap[slot].bytes();
            let next = heap[slot].next().expect("there is room behind it");
            slot = self.map(heap, accounts, memory, next, missing)?;
        }
        heap.take(slot);
        Ok(slot)
    }

    fn new_range<K: StreamName, E>(
        &mut self,
        heap: &mut BlockHeap<K>,
        memory: &mut dyn VirtualMemorySource<Error = E>,
        (size, page): (RequestSize, u64),
        owner: StreamAndPool<K>,
    ) -> Result<SlabIndex, Unable<E>> {
        // A device could not serve what is larger than it.
        if size.rounded > self.range_bytes {
            return Err(Unable::no_addresses(size.rounded));
        }
        let range = ExpandableRange::reserve(memory, self.range_bytes, page)?;
        let addresses = range.addresses();
        let range = self.ranges.insert(range);
        Ok(heap.add_range(addresses, size.pool, owner, range))
    }

    /// Maps memory at the beginning of a block that has none, for `bytes` or all of it; returns the
    /// free block that it is part of then.
    fn map<K: StreamName, E>(
        &mut self,
        heap: &mut BlockHeap<K>,
        accounts: &mut SegmentAccounts,
        memory: &mut dyn VirtualMemorySource<Error = E>,
        slot: SlabIndex,
        bytes: u64,
    ) -> Result<SlabIndex, Unable<E>> {
        let block = &heap[slot];
        let (pool, bytes) = (block.note.pool, bytes.min(block.bytes()));
        let range = block.note.range.expect("only blocks of ranges have no memory");
        let mapped = self.ranges[range].map(memory, block.address(), bytes)?;
        accounts.pages_mapped(pool, mapped);
        Ok(heap.map(slot, mapped))
    }

    /// Takes the memory of the whole pages in a free block away; returns how much that is.
    pub(super) fn unmap<K: StreamName, E>(
        &mut self,
        heap: &mut BlockHeap<K>,
        accounts: &mut SegmentAccounts,
        memory: &mut dyn VirtualMemorySource<Error = E>,
        slot: SlabIndex,
    ) -> u64 {
        let block = &heap[slot];
        let pages = self.whole_pages(block);
        let Some((range, (address, bytes))) = block.note.range.zip(pages) else { return 0 };
        self.ranges[range].unmap(memory, address, bytes);
        accounts.pages_unmapped(block.note.pool, bytes);
        heap.unmap(slot, (address, bytes));
        bytes
    }

    /// Gives the ranges back that have no memory at all.
    pub(super) fn unreserve_empty<K: StreamName, E>(
        &mut self,
        heap: &mut BlockHeap<K>,
        memory: &mut dyn VirtualMemorySource<Error = E>,
    ) {
        for range in heap.remove_empty_ranges() {
            self.ranges.remove(range).unreserve(memory);
        }
    }

    /// The whole pages in a block, if it is part of a range.
    pub(super) fn whole_pages<K>(&self, block: &HeapBlock<K>) -> Option<(Address, u64)> {
        self.ranges[block.note.range?].whole_pages(block.address(), block.bytes())
    }

    /// The distance of a block from the beginning of its page, if it is part of a range.
    pub(super) fn offset_in_page<K>(&self, block: &HeapBlock<K>) -> Option<u64> {
        Some(self.ranges[block.note.range?].offset_in_page(block.address()))
    }
}
