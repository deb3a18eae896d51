//! Device memory stitched together from pages: Sluice's own policy.
//!
//! [`Stitched`] is composed of parts that own their state:
//!
//! - `heap`: spans of addresses in every state, in arenas by stream and pool. Those of a stream are
//!   in its cache (`stream_cache`, all of them in `cache_table`), which can be lent.
//! - `mapper`: the chunks of physical memory (`chunk`), what is mapped, and old mappings (`stale`).
//!   Chunks for a place come from a `supply`, which makes them or takes `movable` ones.
//! - `quarantine`: freed memory that other streams used, kept back for a while.
//! - `accounts`: what is held and was held at most.
//!
//! `requests` finds memory for what no free block of the stream serves, with `placement` to choose
//! among places; `release` gives memory back, `certificate` and `snapshot`
//! tell of it.

mod accounts;
mod arena;
mod bins;
mod cache_table;
mod certificate;
mod chunk;
mod heap;
mod idle;
#[cfg(test)]
mod made_up_source;
mod mapper;
mod movable;
mod pages;
mod placement;
mod policy;
mod quarantine;
mod release;
mod requests;
mod snapshot;
mod span;
mod stale;
mod stream_cache;
mod supply;

pub use self::stream_cache::StreamCache;

use self::accounts::Accounts;
use self::arena::ArenaId;
use self::heap::SpanHeap;
use self::mapper::Mapper;
use self::quarantine::Quarantine;
use self::span::SpanState;
use self::stream_cache::{SHARED, pool_of};
use super::slab::SlabIndex;
use super::{Block, MemoryStats, StreamName};

/// Sluice's own policy: physical pages of 2 MiB that are put where addresses are free.
///
/// A request takes a free block, free memory with addresses in one chunk, if its stream has one that is
/// large enough. If not, free pages from elsewhere are mapped where some are missing. So what is
/// free is of use wherever it is, and memory is lost only in pages that are partly held.
///
/// # Physical memory
/// It comes in chunks of some pages, as a call to the driver costs the same for one page and for
/// many. A chunk moves when all of it is free. It is mapped at its new place at once, while the old
/// mapping stays: two places may show the same memory. The old one goes once the work that used it
/// there is known to be over. New pages are made as long as all memory is little more than what was
/// ever held at once (2 %); beyond that, pages move first. Where they never cease to move, there may be
/// more, bit by bit, until they do.
///
/// A source without virtual memory has nothing for it: each request is refused as out of memory.
///
/// # Streams
/// Each stream has its own addresses. What is freed is at once free for the next request, also if
/// other streams still use it: whoever gets it must come after those uses
/// ([`waits_for`](super::Policy::waits_for)). Which memory that is depends on the order of the
/// calls alone, never on how far the device has come. Memory that other streams have used is handed
/// out last: up to 64 MiB of it, or a 128th of the most that was held, are kept back while there is
/// other memory, so that whoever copies ahead does not wait for the work on the copy before. Pages
/// move between streams only where a stream would have to be given new ones otherwise.
///
/// # Pools
/// They keep memory apart ([`StreamAndPool::pool`](crate::policy::StreamAndPool::pool)). That of graphs does not move, serves nobody
/// else, is not given back before [`end_pool`](super::Policy::end_pool), and is handed out again only
/// when no other stream uses it any more, as captured work cannot wait for work that runs. That of a
/// part of a program moves within its pool, and goes back to the source as all other does. Once the
/// source refuses, what is free of it serves everybody, and those in the pool get what is free
/// elsewhere.
#[derive(Debug)]
pub struct Stitched<K> {
    heap: SpanHeap<K>,
    mapper: Mapper,
    /// Memory that was freed lately while other streams used it.
    quarantine: Quarantine,
    accounts: Accounts,
}

impl<K: StreamName> Stitched<K> {
    /// A policy that has no memory yet.
    pub fn new() -> Self {
        Stitched {
            heap: SpanHeap::default(),
            mapper: Mapper::default(),
            quarantine: Quarantine::default(),
            accounts: Accounts::default(),
        }
    }

    /// Its statistics.
    pub fn statistics(&self) -> MemoryStats {
        let mut statistics = self.accounts.statistics(&self.heap.caches);
        self.mapper.add_to(&mut statistics);
        statistics
    }

    /// Sets every peak to the current value.
    pub fn reset_peak_statistics(&mut self) {
        self.accounts.reset_peak(&mut self.heap.caches);
        self.mapper.reset_peak();
    }

    /// Sets the totals of what was added and taken away, and all counts, to zero.
    pub fn reset_accumulated_statistics(&mut self) {
        self.accounts.reset_accumulated(&mut self.heap.caches);
        self.mapper.reset_accumulated();
    }

    /// Hands out `bytes` of a free block at an address, for a request of an arena.
    fn hand_out(
        &mut self,
        (free_block, address): (SlabIndex, u64),
        bytes: u64,
        requested: u64,
        holder: ArenaId,
    ) -> Block {
        let pool = self.heap.arena(holder).pool;
        let cache = self.heap.caches.cache_mut(free_block.slab());
        let is_counted = cache.number() != SHARED && cache.local_stats.take(pool, bytes, requested);
        let mut block = cache.hand_out((free_block, address), bytes, requested, holder);
        if !is_counted {
            let caches = &mut self.heap.caches;
            self.accounts.count_allocation(caches, free_block.slab(), (pool, bytes, requested));
        }
        let span = &self.heap.caches[block.slot];
        if span.arena != holder {
            block.is_shared = true;
            let (own, holding) = (self.heap.stream_of(span.arena), self.heap.stream_of(holder));
            block.last_use = span.uses.on(own, holding);
        }
        block
    }

    /// Ends the wait of freed memory of the shared cache for its uses, if there was one. If its pool
    /// has ended since, graphs used it, too.
    fn complete_free(&mut self, slot: SlabIndex) {
        let clock = self.heap.clock;
        let StreamCache { spans, arenas, .. } = self.heap.caches.cache_mut(slot.slab());
        let span = &mut spans[slot];
        let arena = &arenas[span.arena.index as usize];
        for (stream, last) in &arena.uses_of_graphs {
            span.uses.add(arena.owner.stream, *stream, *last);
        }
        span.freed = clock;
        let (bytes, requested) = (span.bytes, std::mem::take(&mut span.requested));
        self.accounts.counted_mut().count_free_completed(pool_of(bytes), bytes, requested);
        self.make_available(slot);
    }

    /// Keeps a freed span back if other streams have used it than its own and its holder's, who
    /// would not wait, and makes it a free block otherwise. The oldest go where there are too many.
    fn make_available(&mut self, slot: SlabIndex) {
        let span = &self.heap.caches[slot];
        let holder = self.heap.stream_of(span.holder);
        if span.uses.others().all(|(stream, _)| stream == holder) {
            self.heap.make_free_block(slot);
            return;
        }
        let span = &mut self.heap.caches[slot];
        span.state = SpanState::Quarantined;
        self.quarantine.push(slot, span.bytes);
        while let Some(oldest) = self.quarantine.pop_surplus(self.accounts.most_held()) {
            self.heap.make_free_block(oldest);
        }
    }

    /// Makes free blocks of all that is kept back; false if there is nothing.
    fn end_quarantine(&mut self) -> bool {
        let any = !self.quarantine.is_empty();
        while let Some(oldest) = self.quarantine.pop_oldest() {
            self.heap.make_free_block(oldest);
        }
        any
    }

    /// The bytes that are held.
    fn held(&self) -> u64 {
        self.accounts.held(&self.heap.caches)
    }
}

impl<K: StreamName> Default for Stitched<K> {
    fn default() -> Self {
        Self::new()
    }
}
