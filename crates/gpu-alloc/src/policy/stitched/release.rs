//! Ends mappings that chunks have left, and gives memory back.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Stitched;
use super::arena::ArenaId;
use super::chunk::PhysicalChunk;
use super::pages::PAGE;
use super::span::{Span, SpanState};
use crate::policy::slab::Slot;
use crate::policy::source::KnownVirtualMemory;
use crate::policy::uses::Uses;
use crate::policy::{Address, MemorySource, StreamName};

impl<K: StreamName> Stitched<K> {
    /// Marks the pages of a free block that a chunk leaves, from a span on that is not after them. Their
    /// mapping goes later.
    pub(super) fn make_stale(&mut self, near: Slot, page: u64, pages: u64) -> Slot {
        let (start, end) = (page * PAGE, (page + pages) * PAGE);
        let free_block = self.spans.find_from(near, start);
        let slot = self.cut_out(free_block, start, end);
        let span = &mut self.spans[slot];
        span.state = SpanState::Stale;
        let arena = span.arena;
        self.stale.push_back((slot, start));
        // It may be over already.
        self.has_news = true;
        self.arena_mut(arena).set_chunks(page, pages, None);
        self.statistics.reserved_bytes.decrease(self.arena(arena).pool, end - start);
        slot
    }

    /// Ends old mappings that no work uses any more, among the oldest, neighbours at once.
    pub(super) fn unmap_stale<S: MemorySource>(&mut self, source: &mut S, most: usize) {
        let news = std::mem::take(&mut self.has_news);
        if !news {
            return;
        }
        for _ in 0..self.stale.len().min(most) {
            let Some((slot, address)) = self.stale.pop_front() else { return };
            if !self.is_stale_at(slot, address) {
                continue;
            }
            if self.is_over(slot) {
                self.unmap_around(source, slot);
            } else {
                self.stale.push_back((slot, address));
            }
        }
    }

    /// Ends the old mapping of a span, and those around that are over as well.
    fn unmap_around<S: MemorySource>(&mut self, source: &mut S, slot: Slot) {
        let mut first = slot;
        while let Some(previous) = self.spans[first].previous
            && self.may_be_unmapped(previous)
        {
            first = previous;
        }
        while let Some(next) = self.spans[first].next
            && self.may_be_unmapped(next)
        {
            self.join_next(first);
        }
        let (start, bytes) = (self.spans[first].address, self.spans[first].bytes);
        source.known_virtual_memory().unmap(Address(start), bytes);
        self.calls += 1;
        self.vacate(first);
        self.settle(first);
    }

    pub(super) fn is_stale_at(&self, slot: Slot, address: u64) -> bool {
        let stale = |span: &Span<K>| span.state == SpanState::Stale && span.address == address;
        self.spans.get(slot).is_some_and(stale)
    }

    fn may_be_unmapped(&self, slot: Slot) -> bool {
        self.spans[slot].state == SpanState::Stale && self.is_over(slot)
    }

    /// Whether all uses of a span are known to be over.
    pub(super) fn is_over(&self, slot: Slot) -> bool {
        let span = &self.spans[slot];
        let own = self.stream_of(span.arena);
        span.uses.all(own).all(|(stream, sequence)| self.has_completed(stream, sequence))
    }

    fn vacate(&mut self, slot: Slot) {
        let span = &mut self.spans[slot];
        span.state = SpanState::Vacant;
        span.uses = Uses::none();
        span.is_recycled = false;
    }

    /// Gives back chunks that were made for a request which failed, and that nobody was given yet,
    /// and all that are mapped nowhere; returns the bytes.
    pub(super) fn unmake<S: MemorySource>(&mut self, source: &mut S, made: Vec<Slot>) -> u64 {
        for chunk in made {
            let PhysicalChunk { pages, home, .. } = self.chunks[chunk];
            if let Some((arena, page)) = home {
                let near = self.first_span_at(arena, page);
                self.unmap_chunks(source, arena, near, page..page + pages);
            }
        }
        self.destroy_spare(source)
    }

    /// The first span of the region that a page is in.
    fn first_span_at(&self, arena: ArenaId, page: u64) -> Slot {
        self.arena(arena).region_of(page).first
    }

    /// Unmaps whole chunks in a free block, which become spare; `near` is a span of the region that is
    /// not after them.
    pub(super) fn unmap_chunks<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        near: Slot,
        pages: Range<u64>,
    ) {
        let (start, end) = (pages.start * PAGE, pages.end * PAGE);
        source.known_virtual_memory().unmap(Address(start), end - start);
        let free_block = self.spans.find_from(near, start);
        let middle = self.cut_out(free_block, start, end);
        self.vacate(middle);
        self.settle(middle);
        self.empty(arena, pages);
        let pool = self.arena(arena).pool;
        self.statistics.reserved_bytes.decrease(pool, end - start);
        self.calls += 1;
    }

    /// Gives back the chunks that are mapped nowhere; returns their bytes.
    pub(super) fn destroy_spare<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let mut released = 0;
        for chunk in std::mem::take(&mut self.spare) {
            let chunk = self.chunks.remove(chunk);
            source.known_virtual_memory().destroy(chunk.physical, chunk.bytes());
            self.pages -= chunk.pages;
            self.statistics.num_device_free += 1;
            released += chunk.bytes();
        }
        released
    }

    /// Gives back the addresses of pools that have ended and have no memory any more; their arenas
    /// serve others, unless somebody still holds memory elsewhere that was asked for there.
    pub(super) fn retire_arenas<S: MemorySource>(&mut self, source: &mut S) {
        let ended = self.arena_of.iter().filter(|(_, id)| {
            self.arena(**id).home.pool.is_some()
                && self.pool_in_use(**id).is_none()
                && self.is_vacant(**id)
        });
        let mut ended: Vec<_> = ended.map(|(key, id)| (*key, *id)).collect();
        if ended.is_empty() {
            return;
        }
        let holds = |span: &&Span<K>| matches!(span.state, SpanState::Held | SpanState::Waiting);
        let holders: BTreeSet<_> =
            self.spans.iter().filter(holds).map(|span| span.holder).collect();
        ended.retain(|(_, id)| !holders.contains(id));
        for (key, id) in ended {
            self.arena_of.remove(&key);
            for region in std::mem::take(&mut self.arena_mut(id).regions) {
                self.unlist(region.first);
                self.spans.cache_mut(id.cache.into()).spans.remove_region(region.first);
                let (address, bytes) = (Address(region.address), region.bytes);
                source.known_virtual_memory().unreserve(address, bytes);
            }
            self.retired.push(id);
        }
    }

    /// Whether no memory is mapped in an arena.
    fn is_vacant(&self, arena: ArenaId) -> bool {
        let regions = &self.arena(arena).regions;
        regions.iter().all(|region| {
            let first = &self.spans[region.first];
            first.state == SpanState::Vacant && first.bytes == region.bytes
        })
    }

    /// Gives back every chunk that nobody holds anything of, whose uses are over, and that no graph
    /// uses.
    pub(super) fn release_chunks<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        self.join_fresh();
        self.dissolve_quarantine();
        self.unmap_stale(source, usize::MAX);
        for (arena, free_block, pages) in self.releasable() {
            self.unmap_chunks(source, arena, free_block, pages);
        }
        let released = self.destroy_spare(source);
        self.add_up();
        self.most_held = self.held();
        self.calls = 0;
        released
    }

    /// Runs of chunks that may be given back.
    fn releasable(&self) -> Vec<(ArenaId, Slot, Range<u64>)> {
        let free = self.free_chunks().filter(|(_, _, pages)| !pages.is_empty());
        free.filter(|(_, free_block, _)| self.is_over(*free_block)).collect()
    }
}
