//! Maps chunks where memory is missing, and unmaps what nobody uses there any more.

use std::ops::Range;

use super::arena::ArenaId;
use super::chunk::{ChunkStore, PhysicalChunk};
use super::heap::SpanHeap;
use super::pages::{PAGE, touched};
use super::placement::Placement;
use super::span::SpanState;
use super::stale::StaleMappings;
use super::supply::Supply;
use crate::policy::slab::SlabIndex;
use crate::policy::source::{KnownVirtualMemory, Unable};
use crate::policy::uses::LastUses;
use crate::policy::{
    Address, MemorySource, MemoryStats, PoolStatistics, RequestKind, SourceError, StreamName,
};

/// The physical memory of a policy, and what is mapped.
///
/// A chunk may move away from where it is mapped: then the old mapping is stale, and goes when the work
/// that used it is over.
#[derive(Debug, Default)]
pub(super) struct Mapper {
    pub(super) chunks: ChunkStore,
    pub(super) stale: StaleMappings,
    reserved: PoolStatistics,
    /// The calls to the driver that made, mapped and unmapped memory.
    calls: u64,
}

/// Memory that was mapped at vacant pages, from their first on.
struct Mapped<K> {
    pages: Range<u64>,
    uses: LastUses<K>,
    is_recycled: bool,
}

/// Vacant pages of a place.
struct Gap {
    /// The span that they are in.
    vacant: SlabIndex,
    pages: Range<u64>,
    /// The end of the vacant pages there, which the place may not need.
    room_end: u64,
}

impl Mapper {
    /// The calls to the driver since they were last forgotten.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn forget_calls(&mut self) {
        self.calls = 0;
    }

    /// Has the source make a chunk.
    pub(super) fn make_chunk<S: MemorySource>(
        &mut self,
        source: &mut S,
        pages: u64,
    ) -> Result<SlabIndex, SourceError<S::Error>> {
        let chunk = self.chunks.make(source, pages)?;
        self.calls += 1;
        Ok(chunk)
    }

    /// Adds what it counts to the statistics: memory that is mapped, chunks made and given back.
    pub(super) fn add_to(&self, statistics: &mut MemoryStats) {
        statistics.reserved_bytes = self.reserved;
        (statistics.num_device_alloc, statistics.num_device_free) = self.chunks.counts();
    }

    pub(super) fn reserved(&self) -> PoolStatistics {
        self.reserved
    }

    /// Lets the peaks be what they were, where what was mapped since was of no use.
    pub(super) fn forget_peaks_since(&mut self, before: &PoolStatistics) {
        self.reserved.forget_peaks_since(before);
    }

    pub(super) fn reset_peak(&mut self) {
        self.reserved.reset_peak();
    }

    pub(super) fn reset_accumulated(&mut self) {
        self.reserved.reset_accumulated();
        self.chunks.reset_counts();
    }

    /// Maps memory at every vacant page of a block. Where that fails, what has moved there by then
    /// stays, as free blocks, and what was made goes back.
    pub(super) fn map_missing<K: StreamName, S: MemorySource>(
        &mut self,
        heap: &mut SpanHeap<K>,
        source: &mut S,
        (arena, place, bytes): (ArenaId, Placement, u64),
        supply: &mut Supply,
    ) -> Result<(), Unable<S::Error>> {
        let pages = touched(place.address, place.address + bytes);
        let mut outcome = Ok(());
        for gap in gaps(heap, place.first, &pages) {
            let start = gap.pages.start;
            let mut mapped =
                Mapped { pages: start..start, uses: LastUses::none(), is_recycled: false };
            while mapped.pages.end < gap.pages.end && outcome.is_ok() {
                outcome = self.map_one(heap, source, arena, supply, &gap, &mut mapped);
            }
            let settled = self.settle_mapped(heap, source, arena, gap.vacant, mapped);
            outcome = outcome.and(settled);
            if outcome.is_err() {
                break;
            }
        }
        outcome.map_err(|unable| unable.after(self.unmake(heap, source, supply.take_made())))
    }

    /// Maps one chunk after what is mapped of a gap.
    fn map_one<K: StreamName, S: MemorySource>(
        &mut self,
        heap: &mut SpanHeap<K>,
        source: &mut S,
        arena: ArenaId,
        supply: &mut Supply,
        gap: &Gap,
        mapped: &mut Mapped<K>,
    ) -> Result<(), Unable<S::Error>> {
        let page = mapped.pages.end;
        let room = (gap.pages.end - page, gap.room_end - page);
        let supplied = supply.next(self, heap, source, arena, room);
        let Some(supplied) = supplied.map_err(Unable::Failed)? else {
            let denial = supply.denial();
            return Err(Unable::Refused(denial.expect("a supply ends where the source refuses")));
        };
        let PhysicalChunk { physical, pages, .. } = *self.chunks.get(supplied.chunk);
        let bytes = pages * PAGE;
        // A chunk that moves is mapped here while its old mapping stays: work that still uses it there
        // goes on, and the uses that it brings make the next owner's work come after.
        if let Err(error) = source.known_virtual_memory().map(Address(page * PAGE), physical, bytes)
        {
            self.chunks.make_spare(supplied.chunk);
            return Err(Unable::to_get(RequestKind::Mapping, bytes)(error));
        }
        self.chunks.note_mapped(supplied.chunk, arena, page);
        self.calls += 1;
        heap.arena_mut(arena).set_chunks(page, pages, Some(supplied.chunk));
        mapped.pages.end += pages;
        mapped.uses.join(&supplied.uses);
        mapped.is_recycled |= supplied.is_recycled;
        Ok(())
    }

    /// Makes a free block of pages that were vacant and have memory now.
    fn settle_mapped<K: StreamName, S: MemorySource>(
        &mut self,
        heap: &mut SpanHeap<K>,
        source: &mut S,
        arena: ArenaId,
        vacant: SlabIndex,
        mapped: Mapped<K>,
    ) -> Result<(), Unable<S::Error>> {
        let Mapped { pages, uses, is_recycled } = mapped;
        if pages.is_empty() {
            return Ok(());
        }
        let (start, end) = (pages.start * PAGE, pages.end * PAGE);
        let memory = source.known_virtual_memory();
        if let Err(error) = memory.set_access(Address(start), end - start) {
            // No work has been there yet.
            memory.unmap(Address(start), end - start);
            self.empty(heap, arena, pages);
            return Err(Unable::to_get(RequestKind::Mapping, end - start)(error));
        }
        self.reserved.increase(heap.arena(arena).pool, end - start);
        self.calls += 1;
        let slot = heap.caches.cut_out(vacant, start, end);
        let freed = heap.clock;
        let span = &mut heap.caches[slot];
        (span.state, span.uses, span.is_recycled) = (SpanState::Free, uses, is_recycled);
        span.freed = freed;
        heap.caches.settle(slot);
        Ok(())
    }

    /// Notes that pages have no memory any more; what they had is spare.
    fn empty<K: StreamName>(&mut self, heap: &mut SpanHeap<K>, arena: ArenaId, pages: Range<u64>) {
        let mut page = pages.start;
        while page < pages.end {
            let chunk = heap.arena(arena).chunk_at(page).expect("the page is mapped");
            self.chunks.make_spare(chunk);
            page += self.chunks.get(chunk).pages;
        }
        heap.arena_mut(arena).set_chunks(pages.start, pages.end - pages.start, None);
    }

    /// Marks the pages of a free block that a chunk leaves, from a span on that is not after them.
    /// Their mapping goes later.
    pub(super) fn make_stale<K: StreamName>(
        &mut self,
        heap: &mut SpanHeap<K>,
        near: SlabIndex,
        pages: Range<u64>,
    ) -> SlabIndex {
        let (start, end) = (pages.start * PAGE, pages.end * PAGE);
        let free_block = heap.caches.find_from(near, start);
        let slot = heap.caches.cut_out(free_block, start, end);
        let span = &mut heap.caches[slot];
        span.state = SpanState::Stale;
        let arena = span.arena;
        self.stale.push(slot, start);
        heap.arena_mut(arena).set_chunks(pages.start, pages.end - pages.start, None);
        self.reserved.decrease(heap.arena(arena).pool, end - start);
        slot
    }

    /// Ends old mappings that no work uses any more, among the oldest, neighbours at once.
    pub(super) fn unmap_stale<K: StreamName, S: MemorySource>(
        &mut self,
        heap: &mut SpanHeap<K>,
        source: &mut S,
        max: usize,
    ) {
        for (slot, address) in self.stale.take_oldest(max) {
            if !heap.is_stale_at(slot, address) {
                continue;
            }
            if heap.is_over(slot) {
                self.unmap_around(heap, source, slot);
            } else {
                self.stale.put_back(slot, address);
            }
        }
    }

    /// Ends the old mapping of a span, and those around that are over as well.
    fn unmap_around<K: StreamName, S: MemorySource>(
        &mut self,
        heap: &mut SpanHeap<K>,
        source: &mut S,
        slot: SlabIndex,
    ) {
        // One call for neighbours that are over together costs the driver as much as one for a page.
        let is_over = |heap: &SpanHeap<K>, slot: SlabIndex| {
            heap.caches[slot].state == SpanState::Stale && heap.is_over(slot)
        };
        let mut first = slot;
        while let Some(previous) = heap.caches[first].previous
            && is_over(heap, previous)
        {
            first = previous;
        }
        while let Some(next) = heap.caches[first].next
            && is_over(heap, next)
        {
            heap.caches.join_next(first);
        }
        let (start, bytes) = (heap.caches[first].address, heap.caches[first].bytes);
        source.known_virtual_memory().unmap(Address(start), bytes);
        self.calls += 1;
        heap.vacate(first);
    }

    /// Unmaps whole chunks in a free block, which become spare; `near` is a span of the region that
    /// is not after them.
    pub(super) fn unmap_chunks<K: StreamName, S: MemorySource>(
        &mut self,
        heap: &mut SpanHeap<K>,
        source: &mut S,
        arena: ArenaId,
        (near, pages): (SlabIndex, Range<u64>),
    ) {
        let (start, end) = (pages.start * PAGE, pages.end * PAGE);
        source.known_virtual_memory().unmap(Address(start), end - start);
        let free_block = heap.caches.find_from(near, start);
        let middle = heap.caches.cut_out(free_block, start, end);
        heap.vacate(middle);
        self.empty(heap, arena, pages);
        self.reserved.decrease(heap.arena(arena).pool, end - start);
        self.calls += 1;
    }

    /// Gives back chunks that were made for a request which failed, and that nobody was given yet,
    /// and all that are mapped nowhere; returns the bytes.
    fn unmake<K: StreamName, S: MemorySource>(
        &mut self,
        heap: &mut SpanHeap<K>,
        source: &mut S,
        made: Vec<SlabIndex>,
    ) -> u64 {
        for chunk in made {
            let PhysicalChunk { pages, mapped_at, .. } = *self.chunks.get(chunk);
            if let Some((arena, page)) = mapped_at {
                let near = heap.arena(arena).region_of(page).first;
                self.unmap_chunks(heap, source, arena, (near, page..page + pages));
            }
        }
        self.chunks.destroy_spare(source)
    }
}

/// The vacant pages of a place.
fn gaps<K: StreamName>(heap: &SpanHeap<K>, first: SlabIndex, pages: &Range<u64>) -> Vec<Gap> {
    let spans = heap.caches.from(first).take_while(|(_, span)| span.address < pages.end * PAGE);
    let vacant = spans.filter(|(_, span)| span.state == SpanState::Vacant);
    let gaps = vacant.map(|(vacant, span)| {
        let (start, room_end) = (span.address / PAGE, span.end() / PAGE);
        Gap { vacant, pages: start.max(pages.start)..room_end.min(pages.end), room_end }
    });
    gaps.filter(|gap| !gap.pages.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::arena::Region;
    use super::super::made_up_source::MadeUpSource;
    use super::super::placement;
    use super::*;
    use crate::policy::Pool;

    /// A heap with one vacant region for large requests of a stream.
    fn heap() -> (SpanHeap<u8>, ArenaId) {
        let mut heap = SpanHeap::default();
        let arena = heap.arena_for(1.into(), Pool::Large);
        let (address, bytes) = (1 << 40, 64 * PAGE);
        let cache = heap.caches.cache_mut(arena.cache.into());
        let first = cache.spans.add_region(arena, address, bytes);
        heap.arena_mut(arena).regions.push(Region::new(address, bytes, first));
        heap.caches.list(first);
        (heap, arena)
    }

    /// Maps memory for a block of so many pages.
    fn map(
        mapper: &mut Mapper,
        (heap, arena): &mut (SpanHeap<u8>, ArenaId),
        source: &mut MadeUpSource,
        pages: u64,
    ) -> bool {
        let place = placement::place_for(heap, *arena, pages * PAGE).expect("there are addresses");
        let touched = touched(place.address, place.address + pages * PAGE);
        let mut supply = Supply::plan((heap, mapper), *arena, (touched, place.missing), false);
        let wanted = (*arena, place, pages * PAGE);
        mapper.map_missing(heap, source, wanted, &mut supply).is_ok()
    }

    #[test]
    fn what_is_missing_is_mapped_and_becomes_one_free_block() {
        let (mut mapper, mut heap) = (Mapper::default(), heap());
        let mut source = MadeUpSource::of(64 * PAGE);
        assert!(map(&mut mapper, &mut heap, &mut source, 3));
        let (heap, arena) = &heap;
        let (block, _) = heap.caches.free_block_for(*arena, 3 * PAGE).expect("it is mapped");
        assert_eq!(heap.caches[block].bytes, 3 * PAGE);
        assert_eq!(mapper.reserved().all.current, 3 * PAGE);
        assert_eq!(source.calls.iter().filter(|call| **call == "set_access").count(), 1);
        assert_eq!(mapper.calls(), source.calls.len() as u64);
    }

    #[test]
    fn what_was_made_for_a_request_that_fails_goes_back() {
        let (mut mapper, mut heap) = (Mapper::default(), heap());
        let mut source = MadeUpSource::of(2 * PAGE);
        assert!(!map(&mut mapper, &mut heap, &mut source, 3));
        assert_eq!((mapper.chunks.pages(), mapper.reserved().all.current), (0, 0));
        assert_eq!(source.left, 2 * PAGE);
        assert!(heap.0.caches.free_block_for(heap.1, PAGE).is_none());
    }

    #[test]
    fn an_old_mapping_stays_until_the_work_that_used_it_is_over() {
        let (mut mapper, mut heap) = (Mapper::default(), heap());
        let mut source = MadeUpSource::of(64 * PAGE);
        assert!(map(&mut mapper, &mut heap, &mut source, 1));
        let (heap, arena) = (&mut heap.0, heap.1);
        let (block, address) = heap.caches.free_block_for(arena, PAGE).expect("it is mapped");
        heap.caches[block].uses.add(1, 2, 5);
        mapper.make_stale(heap, block, address / PAGE..address / PAGE + 1);
        mapper.unmap_stale(heap, &mut source, usize::MAX);
        assert!(!source.calls.contains(&"unmap"));
        heap.pending.complete(2, 5);
        mapper.stale.note_progress();
        mapper.unmap_stale(heap, &mut source, usize::MAX);
        assert_eq!(source.calls.last(), Some(&"unmap"));
    }
}
