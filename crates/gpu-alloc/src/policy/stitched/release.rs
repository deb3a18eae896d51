//! Ends mappings that pieces have left, and gives memory back.

use std::ops::Range;

use super::Stitched;
use super::arena::ArenaId;
use super::pages::PAGE;
use super::span::State;
use crate::policy::slab::Slot;
use crate::policy::source::KnownVirtualMemory;
use crate::policy::{Address, MemorySource, StreamName};

impl<K: StreamName> Stitched<K> {
    /// Marks the pages of a hole that a piece leaves, from a span on that is not after them. Their
    /// mapping goes later.
    pub(super) fn make_stale(&mut self, near: Slot, page: u64, pages: u64) -> Slot {
        let (start, end) = (page * PAGE, (page + pages) * PAGE);
        let hole = self.spans.find_from(near, start);
        let slot = self.cut_out(hole, start, end);
        let span = &mut self.spans[slot];
        span.state = State::Stale;
        let arena = span.arena;
        self.stale.push_back((slot, start));
        self.arena_mut(arena).set_pieces(page, pages, None);
        self.statistics.reserved_bytes.decrease(self.arena(arena).pool, end - start);
        slot
    }

    /// Ends the old mappings that no work uses any more, neighbours at once.
    pub(super) fn unmap_stale<S: MemorySource>(&mut self, source: &mut S) {
        let stale = std::mem::take(&mut self.stale);
        let mut left = std::collections::VecDeque::new();
        for (slot, address) in stale {
            if !self.is_stale_at(slot, address) {
                continue;
            }
            if !self.is_over(slot) {
                left.push_back((slot, address));
                continue;
            }
            let mut first = slot;
            while let Some(previous) = self.spans[first].previous
                && self.may_be_unmapped(previous)
            {
                first = previous;
            }
            let start = self.spans[first].address;
            let mut end = self.spans[first].end();
            self.vacate(first);
            while let Some(next) = self.spans[first].next
                && self.may_be_unmapped(next)
            {
                end = self.spans[next].end();
                self.spans[next].state = State::Vacant;
                self.spans.join_next(first);
            }
            source.known_virtual_memory().unmap(Address(start), end - start);
            self.statistics.num_device_free += 1;
            self.settle(first);
        }
        self.stale = left;
    }

    fn is_stale_at(&self, slot: Slot, address: u64) -> bool {
        let stale =
            |span: &super::span::Span<K>| span.state == State::Stale && span.address == address;
        self.spans.get(slot).is_some_and(stale)
    }

    fn may_be_unmapped(&self, slot: Slot) -> bool {
        self.spans[slot].state == State::Stale && self.is_over(slot)
    }

    /// Whether all uses of a span are known to be over.
    fn is_over(&self, slot: Slot) -> bool {
        let span = &self.spans[slot];
        let own = self.stream_of(span.arena);
        span.uses.all(own).all(|(stream, sequence)| self.has_completed(stream, sequence))
    }

    fn vacate(&mut self, slot: Slot) {
        let span = &mut self.spans[slot];
        span.state = State::Vacant;
        span.uses = super::uses::Uses::none();
        span.is_recycled = false;
    }

    /// Gives back every piece that nobody holds anything of, whose uses are over, and that no graph
    /// uses.
    pub(super) fn release_pieces<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        self.unmap_stale(source);
        for (arena, slot, pages) in self.releasable() {
            let (start, end) = (pages.start * PAGE, pages.end * PAGE);
            source.known_virtual_memory().unmap(Address(start), end - start);
            let hole = self.spans.find_from(slot, start);
            let middle = self.cut_out(hole, start, end);
            self.vacate(middle);
            self.settle(middle);
            self.empty(arena, pages);
            let pool = self.arena(arena).pool;
            self.statistics.reserved_bytes.decrease(pool, end - start);
            self.statistics.num_device_free += 1;
        }
        let mut released = 0;
        for piece in std::mem::take(&mut self.spare) {
            let piece = self.pieces.remove(piece);
            source.known_virtual_memory().destroy(piece.physical, piece.bytes());
            self.pages -= piece.pages;
            released += piece.bytes();
        }
        self.most_held = self.statistics.allocated_bytes.all.current;
        released
    }

    /// Runs of pieces that may be given back, last first within a hole.
    fn releasable(&self) -> Vec<(ArenaId, Slot, Range<u64>)> {
        let mut runs = Vec::new();
        for (arena, hole, pieces) in self.free_pieces() {
            if self.is_over(hole) && !pieces.is_empty() {
                runs.push((arena, hole, pieces));
            }
        }
        runs
    }

    /// Each hole that graphs do not keep, with the pages of its whole pieces.
    pub(super) fn free_pieces(&self) -> impl Iterator<Item = (ArenaId, Slot, Range<u64>)> {
        let arenas = self.arena_ids().filter(|id| !self.is_kept(*id));
        arenas.flat_map(move |id| {
            let holes = self.arena(id).holes.all_at_least(&self.spans, PAGE);
            holes.map(move |hole| (id, hole, self.whole_pieces(id, hole)))
        })
    }

    /// The pages of a hole that whole pieces take; they are in one run.
    fn whole_pieces(&self, arena: ArenaId, hole: Slot) -> Range<u64> {
        let pieces = self.movable_in(arena, hole);
        let pages = pieces.filter_map(|movable| {
            let piece = &self.pieces[movable.piece];
            piece.home.map(|(_, page)| page..page + piece.pages)
        });
        pages.reduce(|all, piece| all.start..piece.end).unwrap_or(0..0)
    }
}
