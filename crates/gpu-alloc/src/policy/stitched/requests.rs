//! Requests that no free block of their stream serves.

use super::Stitched;
use super::arena::{ArenaId, Region};
use super::pages::{PAGE, touched};
use super::placement::{self, Placement};
use super::span::SpanState;
use super::stream_cache::StreamCache;
use super::supply::Supply;
use crate::policy::slab::SlabIndex;
use crate::policy::source::{KnownVirtualMemory, Unable};
use crate::policy::{Address, MemorySource, Pool, RequestKind, StreamName};

/// The addresses that an arena for large requests reserves at a time, at least. They take no memory.
const LARGE_REGION: u64 = 8 << 30;
/// The same for small requests.
const SMALL_REGION: u64 = 256 << 20;

/// The calls to the driver that each page is worth at all times: to make it, to map it, and then one
/// more.
const CALLS_DUE_PER_PAGE: u64 = 3;
/// A call is due for so many requests and frees besides.
const OPERATIONS_PER_CALL_DUE: u64 = 1000;
/// The bytes that there may be besides what was held, however little that was: each stream has some
/// pages of its own then, and need not borrow another's.
const MIN_SPARE: u64 = 32 << 20;
/// The number of calls beyond those that are due for which a program is given a page more.
const CALLS_FOR_A_PAGE: u64 = 32;

/// The number of old mappings that are looked at before a new one is made.
const MAX_UNMAPPED_AT_ONCE: usize = 64;

/// A free block, and an address in it where a request is served.
type BlockAt = (SlabIndex, u64);

impl<K: StreamName> Stitched<K> {
    /// Makes a free block for `bytes`, if need be of what is kept back, and in the end of all that
    /// there is.
    pub(super) fn map_or_reclaim<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<BlockAt, Unable<S::Error>> {
        // Each step is dearer than the one before: calls to the driver, then a wait on the device, and
        // last all free memory goes back and comes again.
        let is_refused = |outcome: &Result<_, _>| matches!(outcome, Err(Unable::Refused(_)));
        let mut outcome = self.map(source, arena, bytes);
        // What other streams' work still uses is better than none: the next owner waits for that work
        // on the device, and the host for nothing.
        if is_refused(&outcome) && self.end_quarantine() {
            outcome = match self.heap.caches.free_block_for(arena, bytes) {
                Some(free_block) => Ok(free_block),
                None => self.map(source, arena, bytes),
            };
        }
        if is_refused(&outcome) {
            outcome = self.reclaim(source, arena, bytes);
        }
        outcome
    }

    /// Makes a free block for `bytes` at the best place of an arena.
    ///
    /// As long as there may be more memory, it maps new pages. Then it first takes free blocks that
    /// are kept back, or other streams', and last moves pages.
    fn map<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<BlockAt, Unable<S::Error>> {
        self.heap.caches.join_fresh();
        self.mapper.unmap_stale(&mut self.heap, source, MAX_UNMAPPED_AT_ONCE);
        // If even a block of new pages only would keep memory within bounds, to look elsewhere is not
        // worth it: what is free on other streams stays for them.
        let fresh = touched(0, bytes).end;
        if !self.is_generous(fresh, bytes) {
            let free_block = self.free_block_from_quarantine(arena, bytes);
            let elsewhere = || placement::free_block_elsewhere(&self.heap, arena, bytes);
            if let Some(free_block) = free_block.or_else(elsewhere) {
                return Ok(free_block);
            }
        }
        let place = match placement::place_for(&self.heap, arena, bytes) {
            Some(place) => place,
            None => self.new_place(source, arena, bytes)?,
        };
        self.map_place(source, arena, place, bytes)
    }

    /// Makes a free block for `bytes` after the source refused pages for the best place.
    ///
    /// Any free block will do now, of whatever stream's addresses. If there is none, all free chunks go
    /// back that may, and serve as single pages then: a free chunk at a place is of no use to a
    /// better one, nor is one that is too large for a gap. With none of those left, the best place
    /// is the one that the fewest pages are missing at, of whatever stream's addresses. The refusal is
    /// final but for chunks which are free, and which work still uses.
    fn reclaim<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<BlockAt, Unable<S::Error>> {
        if let Some(free_block) = placement::free_block_anywhere(&self.heap, arena, bytes) {
            return Ok(free_block);
        }
        self.release_chunks(source);
        self.accounts.counted_mut().num_alloc_retries += 1;
        let (owner, place) = match placement::best_place(&self.heap, arena, bytes) {
            Some(best) => best,
            None => (arena, self.new_place(source, arena, bytes)?),
        };
        self.map_place(source, owner, place, bytes)
    }

    /// Maps what is missing at a place; returns the free block there.
    fn map_place<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        place: Placement,
        bytes: u64,
    ) -> Result<BlockAt, Unable<S::Error>> {
        let pages = touched(place.address, place.address + bytes);
        let moves = !self.heap.is_kept(arena) && !self.is_generous(place.missing, bytes);
        let parts = (&self.heap, &self.mapper);
        let mut supply = Supply::plan(parts, arena, (pages, place.missing), moves);
        let wanted = (arena, place, bytes);
        let outcome = self.mapper.map_missing(&mut self.heap, source, wanted, &mut supply);
        if supply.denial().is_some() {
            self.quarantine.note_scarcity();
        }
        outcome?;
        Ok((self.heap.caches.find_from(place.first, place.address), place.address))
    }

    /// A place at addresses that are new.
    fn new_place<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<Placement, Unable<S::Error>> {
        self.add_region(source, arena, bytes)?;
        Ok(placement::place_for(&self.heap, arena, bytes).expect("a new region has room"))
    }

    fn add_region<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<(), Unable<S::Error>> {
        self.heap.retire_arenas(source);
        let least = match self.heap.arena(arena).pool {
            Pool::Small => SMALL_REGION,
            Pool::Large => LARGE_REGION,
        };
        let whole = bytes.checked_next_multiple_of(least);
        let bytes = whole.ok_or_else(|| Unable::no_addresses(bytes))?;
        let reserved = source.known_virtual_memory().reserve(bytes);
        let Address(address) = reserved.map_err(Unable::to_get(RequestKind::Addresses, bytes))?;
        let cache = self.heap.caches.cache_mut(arena.cache.into());
        let first = cache.spans.add_region(arena, address, bytes);
        self.heap.arena_mut(arena).regions.push(Region::new(address, bytes, first));
        self.heap.caches.list(first);
        Ok(())
    }

    /// Makes room for a request, where that takes more memory than there may be before pages move,
    /// with what is kept back.
    fn free_block_from_quarantine(&mut self, arena: ArenaId, bytes: u64) -> Option<BlockAt> {
        let heap = &self.heap;
        let fits = |slot: SlabIndex| {
            let span = &heap.caches[slot];
            span.arena == arena && span.bytes >= bytes
        };
        if let Some(oldest) = self.quarantine.take_first(fits) {
            self.heap.make_free_block(oldest);
        } else if self.may_move(arena, touched(0, bytes).end) || !self.end_quarantine() {
            return None;
        }
        self.heap.caches.free_block_for(arena, bytes)
    }

    /// Whether there are so many pages that nobody holds anything of and that may move to an arena
    /// before memory is short. It looks at no more than it needs to know that.
    fn may_move(&self, to: ArenaId, wanted: u64) -> bool {
        let among = self.heap.pool_in_use(to);
        let spare = self.mapper.chunks.spare().map(|(_, pages)| pages);
        let mapped = self.heap.free_chunks();
        let mapped = mapped.filter(|(from, ..)| self.heap.pool_in_use(*from) == among);
        let mapped = mapped.map(|(_, _, pages)| pages.end - pages.start);
        let mut found = 0;
        spare.chain(mapped).any(|pages| {
            found += pages;
            found >= wanted
        })
    }

    /// Free spans that are no free blocks yet, and the free blocks that they will be joined with.
    pub(super) fn unjoined(&self) -> impl Iterator<Item = SlabIndex> {
        let caches = &self.heap.caches;
        let fresh = caches.caches().filter_map(StreamCache::fresh);
        self.quarantine.spans().chain(fresh).flat_map(|slot| {
            let neighbours = [caches[slot].previous, caches[slot].next];
            let is_free = |slot: &SlabIndex| caches[*slot].state == SpanState::Free;
            std::iter::once(slot).chain(neighbours.into_iter().flatten().filter(is_free))
        })
    }

    /// Whether there may be a page or more besides what there are, before memory moves.
    fn is_generous(&self, missing: u64, bytes: u64) -> bool {
        self.mapper.chunks.pages() + missing <= self.generous_pages(bytes)
    }

    /// The pages that there may be before memory moves, if `bytes` more were held.
    ///
    /// A program that makes memory move again and again is given more of it, until it does not: for
    /// some calls beyond what is due, a page.
    fn generous_pages(&self, bytes: u64) -> u64 {
        let held = self.held() + bytes;
        let most = self.accounts.most_held().max(held);
        // Calls are due for making and mapping each page once and for the program's own activity. All
        // beyond that come from moving pages, which more memory would have saved.
        let due = CALLS_DUE_PER_PAGE * self.mapper.chunks.pages()
            + self.heap.clock / OPERATIONS_PER_CALL_DUE;
        let bought = self.mapper.calls().saturating_sub(due) / CALLS_FOR_A_PAGE;
        (most + (most / 50).max(MIN_SPARE)).div_ceil(PAGE) + self.quarantine.pages() + bought
    }
}
