//! Maps memory where it is missing.

use std::ops::Range;

use super::Stitched;
use super::arena::{ArenaId, Region};
use super::pages::{PAGE, touched};
use super::placement::Placement;
use super::span::SpanState;
use super::supply::Supply;
use crate::policy::slab::Slot;
use crate::policy::source::KnownVirtualMemory;
use crate::policy::source::Unable;
use crate::policy::uses::Uses;
use crate::policy::{Address, MemorySource, Pool, RequestKind, StreamName};

/// The addresses that an arena for large requests reserves at a time, at least. They take no memory.
const LARGE_REGION: u64 = 8 << 30;
/// The same for small requests.
const SMALL_REGION: u64 = 256 << 20;

/// How many old mappings are looked at before a new one is made.
const UNMAPPED_AT_ONCE: usize = 64;

/// What was mapped at vacant pages.
struct Mapped<K> {
    pages: Range<u64>,
    uses: Uses<K>,
    is_recycled: bool,
}

impl<K: StreamName> Stitched<K> {
    /// Makes a free block for `bytes`; returns it with the address in it.
    pub(super) fn stitch<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<(Slot, u64), Unable<S::Error>> {
        self.join_fresh();
        self.unmap_stale(source, UNMAPPED_AT_ONCE);
        let fresh = touched(0, bytes).end;
        if !self.is_generous(fresh, bytes) {
            let free_block = self.free_block_from_quarantine(arena, bytes);
            if let Some(free_block) = free_block.or_else(|| self.free_block_elsewhere(arena, bytes))
            {
                return Ok(free_block);
            }
        }
        let place = match self.place_for(arena, bytes) {
            Some(place) => place,
            None => self.new_place(source, arena, bytes)?,
        };
        self.map_place(source, arena, place, bytes)
    }

    /// Maps what is missing at a place; returns the free block there, and where it is.
    pub(super) fn map_place<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        place: Placement,
        bytes: u64,
    ) -> Result<(Slot, u64), Unable<S::Error>> {
        self.map_missing(source, arena, place, bytes)?;
        let slot = self.spans.find_from(place.first, place.address);
        Ok((slot, place.address))
    }

    /// A place at addresses that are new.
    pub(super) fn new_place<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<Placement, Unable<S::Error>> {
        self.add_region(source, arena, bytes)?;
        Ok(self.place_for(arena, bytes).expect("a new region has room"))
    }

    fn add_region<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<(), Unable<S::Error>> {
        self.retire_arenas(source);
        let least = match self.arena(arena).pool {
            Pool::Small => SMALL_REGION,
            Pool::Large => LARGE_REGION,
        };
        let whole = bytes.checked_next_multiple_of(least);
        let bytes = whole.ok_or_else(|| Unable::no_addresses(bytes))?;
        let reserved = source.known_virtual_memory().reserve(bytes);
        let Address(address) = reserved.map_err(Unable::to_get(RequestKind::Addresses, bytes))?;
        let cache = self.spans.cache_mut(arena.cache.into());
        let first = cache.spans.add_region(arena, address, bytes);
        self.arena_mut(arena).regions.push(Region::new(address, bytes, first));
        self.list(first);
        Ok(())
    }

    /// Maps memory at every vacant page of a block. Where that fails, what has moved there by then
    /// stays, as free blocks, and what was made goes back.
    fn map_missing<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        place: Placement,
        bytes: u64,
    ) -> Result<(), Unable<S::Error>> {
        let pages = touched(place.address, place.address + bytes);
        let mut supply = self.plan(arena, &pages, place.missing, bytes);
        let gaps = self.gaps(place.first, &pages);
        let mut outcome = Ok(());
        for (vacant, gap) in gaps {
            let mut mapped =
                Mapped { pages: gap.start..gap.start, uses: Uses::none(), is_recycled: false };
            let room = self.spans[vacant].end() / PAGE;
            while mapped.pages.end < gap.end && outcome.is_ok() {
                let wanted = mapped.pages.end..gap.end;
                outcome =
                    self.map_one(source, arena, &mut supply, &pages, wanted, room, &mut mapped);
            }
            let settled = self.settle_mapped(source, arena, vacant, mapped);
            outcome = outcome.and(settled);
            if outcome.is_err() {
                break;
            }
        }
        outcome.map_err(|unable| unable.after(self.unmake(source, supply.made)))
    }

    /// The vacant pages of a place, with the spans that they are in.
    fn gaps(&self, first: Slot, pages: &Range<u64>) -> Vec<(Slot, Range<u64>)> {
        let spans = self.spans.from(first).take_while(|(_, span)| span.address < pages.end * PAGE);
        let vacant = spans.filter(|(_, span)| span.state == SpanState::Vacant);
        let gaps = vacant.map(|(slot, span)| {
            let (start, end) = (span.address / PAGE, span.end() / PAGE);
            (slot, start.max(pages.start)..end.min(pages.end))
        });
        gaps.filter(|(_, gap)| !gap.is_empty()).collect()
    }

    /// Maps one chunk at the beginning of `wanted`.
    fn map_one<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        supply: &mut Supply,
        place: &Range<u64>,
        wanted: Range<u64>,
        room: u64,
        mapped: &mut Mapped<K>,
    ) -> Result<(), Unable<S::Error>> {
        let (count, room) = (wanted.end - wanted.start, room - wanted.start);
        let supplied = self.supply(source, supply, arena, place, count, room);
        let Some(supplied) = supplied.map_err(Unable::Failed)? else {
            let refused = supply.refusal;
            return Err(Unable::Refused(refused.expect("a supply ends where the source refuses")));
        };
        let chunk = &mut self.chunks[supplied.chunk];
        let (physical, bytes, pages) = (chunk.physical, chunk.bytes(), chunk.pages);
        let address = Address(wanted.start * PAGE);
        if let Err(error) = source.known_virtual_memory().map(address, physical, bytes) {
            self.spare.push(supplied.chunk);
            return Err(Unable::to_get(RequestKind::Mapping, bytes)(error));
        }
        chunk.home = Some((arena, wanted.start));
        self.calls += 1;
        self.arena_mut(arena).set_chunks(wanted.start, pages, Some(supplied.chunk));
        mapped.pages.end += pages;
        mapped.uses.join(&supplied.uses);
        mapped.is_recycled |= supplied.is_recycled;
        Ok(())
    }

    /// Makes a free block of pages that were vacant and have memory now.
    fn settle_mapped<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        vacant: Slot,
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
            self.empty(arena, pages);
            return Err(Unable::to_get(RequestKind::Mapping, end - start)(error));
        }
        let pool = self.arena(arena).pool;
        self.statistics.reserved_bytes.increase(pool, end - start);
        self.calls += 1;
        let operations = self.operations;
        let slot = self.cut_out(vacant, start, end);
        let span = &mut self.spans[slot];
        (span.state, span.uses, span.is_recycled) = (SpanState::Free, uses, is_recycled);
        span.freed = operations;
        self.settle(slot);
        Ok(())
    }

    /// Notes that pages have no memory any more; what they had is spare.
    pub(super) fn empty(&mut self, arena: ArenaId, pages: Range<u64>) {
        let mut page = pages.start;
        while page < pages.end {
            let slot = self.arena(arena).chunk_at(page).expect("the page is mapped");
            let chunk = &mut self.chunks[slot];
            chunk.home = None;
            self.spare.push(slot);
            page += chunk.pages;
        }
        self.arena_mut(arena).set_chunks(pages.start, pages.end - pages.start, None);
    }
}
