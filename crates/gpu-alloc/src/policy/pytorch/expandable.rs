//! Memory mapped page by page, so that what is free can grow.

use std::collections::BTreeSet;

use super::free_set::FreeBlockKey;
use super::range::ExpandableRange;
use super::size::RequestSize;
use super::{LinkedBlock, LinkedBlockState, Pytorch};
use crate::policy::slab::{Slab, SlabIndex};
use crate::policy::source::Unable;
use crate::policy::{
    Address, Pool, Refusal, RequestKind, SourceDenial, StreamAndPool, StreamName, VirtualMemory,
};

/// The ranges of addresses, and where in them memory is missing.
#[derive(Debug)]
pub(super) struct Expandable<K> {
    /// The number of addresses that a range has, at least: more than there can be memory, as free
    /// pages in its middle may be moved to its end.
    range_bytes: u64,
    ranges: Slab<ExpandableRange>,
    /// The blocks without memory, by address.
    unmapped: BTreeSet<(Pool, StreamAndPool<K>, Address, SlabIndex)>,
}

impl<K: StreamName> Expandable<K> {
    pub(super) fn new(device_bytes: u64) -> Self {
        let range_bytes = device_bytes.saturating_add(device_bytes / 8);
        Expandable { range_bytes, ranges: Slab::default(), unmapped: BTreeSet::new() }
    }

    pub(super) fn insert(&mut self, pool: Pool, block: FreeBlockKey<K>) {
        self.unmapped.insert((pool, block.owner, block.address, block.slot));
    }

    pub(super) fn remove(&mut self, pool: Pool, block: FreeBlockKey<K>) {
        let found = self.unmapped.remove(&(pool, block.owner, block.address, block.slot));
        debug_assert!(found, "addresses without memory are removed as they were inserted");
    }

    /// The blocks without memory of an owner, the lowest first.
    fn unmapped_of(&self, pool: Pool, owner: StreamAndPool<K>) -> impl Iterator<Item = SlabIndex> {
        let blocks = self.unmapped.range((pool, owner, Address(0), SlabIndex::FIRST)..);
        blocks.take_while(move |block| (block.0, block.1) == (pool, owner)).map(|block| block.3)
    }
}

impl<K: StreamName> Pytorch<K> {
    /// The bytes that a free block has, and those that it could grow by.
    pub(super) fn room(&self, free: &FreeBlockKey<K>) -> u64 {
        let next = self.blocks[free.slot].next.map(|next| &self.blocks[next]);
        let unmapped = next.filter(|next| next.state == LinkedBlockState::Unmapped);
        free.bytes + unmapped.map_or(0, |next| next.bytes)
    }

    /// A free block, in no set, that begins as low as memory can be mapped for it. What was mapped
    /// before an error stays, and is free.
    pub(super) fn expand<E>(
        &mut self,
        memory: &mut dyn VirtualMemory<Error = E>,
        size: RequestSize,
        owner: StreamAndPool<K>,
    ) -> Result<SlabIndex, Unable<E>> {
        self.check_limit(size)?;
        let mut slot = match self.lowest_room(size, owner) {
            Some(slot) => slot,
            None => self.new_range(memory, size, owner)?,
        };
        if self.blocks[slot].state == LinkedBlockState::Unmapped {
            slot = self.map(memory, slot, size.rounded)?;
        }
        while self.blocks[slot].bytes < size.rounded {
            let missing = size.rounded - self.blocks[slot].bytes;
            let next = self.blocks[slot].next.expect("there is room behind it");
            slot = self.map(memory, next, missing)?;
        }
        self.remove_idle(slot);
        Ok(slot)
    }

    /// Refuses what a segment would be too large for under the limit, before anything is mapped, as
    /// PyTorch does: also where less is missing than a segment.
    fn check_limit<E>(&self, size: RequestSize) -> Result<(), Unable<E>> {
        let Some(limit) = self.memory_limit else { return Ok(()) };
        let bytes = self.sizes.segment(size);
        let reserved = self.statistics.reserved_bytes.all.current;
        if bytes <= limit.saturating_sub(reserved) {
            return Ok(());
        }
        let refusal = Refusal::Limit(limit);
        Err(Unable::Refused(SourceDenial { kind: RequestKind::Memory, bytes, refusal, given: 0 }))
    }

    /// The lowest block, free or without memory, with which free blocks and such without memory
    /// begin that have enough room together.
    pub(super) fn lowest_room(
        &self,
        size: RequestSize,
        owner: StreamAndPool<K>,
    ) -> Option<SlabIndex> {
        let is_idle = |slot: &SlabIndex| {
            matches!(self.blocks[*slot].state, LinkedBlockState::Free | LinkedBlockState::Unmapped)
        };
        let has_room = |first: &SlabIndex| {
            let idle =
                std::iter::successors(Some(*first), |slot| self.blocks[*slot].next.filter(is_idle));
            let mut rooms = idle.scan(0, |room, slot| {
                *room += self.blocks[slot].bytes;
                Some(*room)
            });
            rooms.any(|room| room >= size.rounded)
        };
        let unmapped = self.expandable.iter().flat_map(|e| e.unmapped_of(size.pool, owner));
        let from_free =
            |slot: SlabIndex| self.blocks[slot].previous.filter(is_idle).unwrap_or(slot);
        unmapped.map(from_free).find(has_room)
    }

    fn new_range<E>(
        &mut self,
        memory: &mut dyn VirtualMemory<Error = E>,
        size: RequestSize,
        owner: StreamAndPool<K>,
    ) -> Result<SlabIndex, Unable<E>> {
        let expandable = self.expandable.as_mut().expect("only expandable segments have ranges");
        // A device could not serve what is larger than it.
        if size.rounded > expandable.range_bytes {
            return Err(Unable::no_addresses(size.rounded));
        }
        let page = self.sizes.page(size.pool);
        let range = ExpandableRange::reserve(memory, expandable.range_bytes, page)?;
        let addresses = range.addresses();
        let range = Some(expandable.ranges.insert(range));
        let slot = self.add_block(addresses, size.pool, owner, (LinkedBlockState::Unmapped, range));
        self.insert_idle(slot);
        Ok(slot)
    }

    /// Maps memory at the beginning of a block that has none, for `bytes` or all of it; returns the
    /// free block that it is part of then.
    fn map<E>(
        &mut self,
        memory: &mut dyn VirtualMemory<Error = E>,
        slot: SlabIndex,
        bytes: u64,
    ) -> Result<SlabIndex, Unable<E>> {
        let LinkedBlock { address, bytes: room, pool, .. } = self.blocks[slot];
        let mapped = self.range_mut(slot).map(memory, address, bytes.min(room))?;
        self.remove_idle(slot);
        if mapped < room {
            let rest = self.split(slot, mapped);
            self.insert_idle(rest);
        }
        self.blocks[slot].state = LinkedBlockState::Free;
        let slot = self.merge(slot);
        self.insert_idle(slot);
        self.statistics.reserved_bytes.increase(pool, mapped);
        self.statistics.num_device_alloc += 1;
        Ok(slot)
    }

    /// Takes the memory of the whole pages in a free block away; returns how much that is.
    pub(super) fn unmap<E>(
        &mut self,
        memory: &mut dyn VirtualMemory<Error = E>,
        mut slot: SlabIndex,
    ) -> u64 {
        let Some((address, bytes)) = self.whole_pages(slot) else { return 0 };
        self.remove_idle(slot);
        let before = address.0 - self.blocks[slot].address.0;
        if before > 0 {
            let rest = self.split(slot, before);
            self.insert_idle(slot);
            slot = rest;
        }
        if self.blocks[slot].bytes > bytes {
            let rest = self.split(slot, bytes);
            self.insert_idle(rest);
        }
        self.range_mut(slot).unmap(memory, address, bytes);
        let block = &mut self.blocks[slot];
        let pool = block.pool;
        block.state = LinkedBlockState::Unmapped;
        (block.last_use, block.is_recycled) = (0, false);
        let slot = self.merge(slot);
        self.insert_idle(slot);
        self.statistics.reserved_bytes.decrease(pool, bytes);
        self.statistics.num_device_free += 1;
        bytes
    }

    /// Gives the ranges back that have no memory at all.
    pub(super) fn unreserve_empty<E>(&mut self, memory: &mut dyn VirtualMemory<Error = E>) {
        let Some(expandable) = &mut self.expandable else { return };
        let is_whole = |slot: SlabIndex| {
            self.blocks[slot].previous.is_none() && self.blocks[slot].next.is_none()
        };
        let empty: Vec<_> = expandable.unmapped.iter().filter(|e| is_whole(e.3)).copied().collect();
        for entry in empty {
            expandable.unmapped.remove(&entry);
            let range = self.blocks.remove(entry.3).range.expect("addresses are of a range");
            expandable.ranges.remove(range).unreserve(memory);
        }
    }

    /// The whole pages in a block of a range.
    pub(super) fn whole_pages(&self, slot: SlabIndex) -> Option<(Address, u64)> {
        let LinkedBlock { address, bytes, range, .. } = self.blocks[slot];
        self.expandable.as_ref()?.ranges[range?].whole_pages(address, bytes)
    }

    /// The distance of a block of a range from the beginning of its page.
    pub(super) fn offset_in_page(&self, slot: SlabIndex) -> Option<u64> {
        let LinkedBlock { address, range, .. } = self.blocks[slot];
        Some(self.expandable.as_ref()?.ranges[range?].offset_in_page(address))
    }

    fn range_mut(&mut self, slot: SlabIndex) -> &mut ExpandableRange {
        let expandable = self.expandable.as_mut();
        let range = self.blocks[slot].range.zip(expandable);
        let (range, expandable) = range.expect("only blocks of ranges are mapped and unmapped");
        &mut expandable.ranges[range]
    }
}
