//! Device memory stitched together from pages: Sluice's own policy.

mod arena;
mod bins;
mod cache_table;
mod certificate;
mod chunk;
mod idle;
mod movable;
mod pages;
mod placement;
mod policy;
mod quarantine;
mod reclaim;
mod release;
mod snapshot;
mod span;
mod stitch;
mod stream_cache;
mod streams;
mod supply;

pub use self::stream_cache::StreamCache;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::arena::{Arena, ArenaId};
use self::cache_table::CacheTable;
use self::chunk::PhysicalChunk;
use self::pages::PAGE;
use self::quarantine::Quarantine;
use self::span::SpanState;
use self::stream_cache::{SHARED, pool_of};
use super::pending::Pending;
use super::slab::{Slab, Slot};
use super::stream_caches::{LocalStats, headroom_below_peaks};
use super::{Block, MemoryStats, Pool, PoolOf, StreamAndPool, StreamName};

/// The calls to the driver that each page is worth at all times: to make it, to map it, and then one
/// more.
const CALLS_DUE_PER_PAGE: u64 = 3;
/// A call is due for so many requests and frees besides.
const OPERATIONS_PER_CALL_DUE: u64 = 1000;
/// So many bytes there may be besides what was held, however little that was: each stream has some
/// pages of its own then, and need not borrow another's.
const LEAST_SPARE: u64 = 32 << 20;
/// So many calls beyond those cost more than a page is worth.
const CALLS_FOR_A_PAGE: u64 = 32;

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
/// They keep memory apart ([`StreamAndPool::pool`]). That of graphs does not move, serves nobody else, is not
/// given back before [`end_pool`](super::Policy::end_pool), and is handed out again only when no
/// other stream uses it any more, as captured work cannot wait for work that runs. That of a part of
/// a program moves within its pool, and goes back to the source as all other does. Once the source
/// refuses, what is free of it serves everybody, and those in the pool get what is free elsewhere.
#[derive(Debug)]
pub struct Stitched<K> {
    /// All spans, by stream cache.
    spans: CacheTable<K>,
    arena_of: BTreeMap<(StreamAndPool<K>, Pool), ArenaId>,
    /// Arenas without a home.
    retired: Vec<ArenaId>,
    chunks: Slab<PhysicalChunk>,
    /// Chunks that are mapped nowhere, of no use to anybody before.
    spare: Vec<Slot>,
    /// Mappings that chunks have left, oldest first, by span and address.
    stale: VecDeque<(Slot, u64)>,
    /// The pools that are still in use.
    pools: BTreeSet<PoolOf>,
    /// Memory of graphs that was freed and waits for work on other streams, and how far each stream
    /// is known to have come.
    pending: Pending<K>,
    /// Memory that was freed lately while other streams used it.
    quarantine: Quarantine,
    /// Whether any stream came on since old mappings were looked at.
    has_news: bool,
    /// All pages that were made and not given back.
    pages: u64,
    /// The calls to the driver that made, mapped and unmapped memory.
    calls: u64,
    /// The most bytes that were ever held at once.
    most_held: u64,
    /// Counts requests and frees, to tell what was freed first.
    operations: u64,
    /// What was counted by all, but for what the stream caches have counted since.
    statistics: MemoryStats,
}

impl<K: StreamName> Stitched<K> {
    /// A policy that has no memory yet.
    pub fn new() -> Self {
        Stitched {
            spans: CacheTable::default(),
            arena_of: BTreeMap::new(),
            retired: Vec::new(),
            chunks: Slab::default(),
            spare: Vec::new(),
            stale: VecDeque::new(),
            pools: BTreeSet::new(),
            pending: Pending::default(),
            quarantine: Quarantine::default(),
            has_news: false,
            pages: 0,
            calls: 0,
            most_held: 0,
            operations: 0,
            statistics: MemoryStats::default(),
        }
    }

    /// What it has done and holds.
    pub fn statistics(&self) -> MemoryStats {
        let mut statistics = self.statistics.clone();
        self.spans.caches().for_each(|cache| cache.local_stats.add_to(&mut statistics));
        statistics
    }

    /// Sets every peak to the current value.
    pub fn reset_peak_statistics(&mut self) {
        self.add_up();
        self.statistics.reset_peak();
    }

    /// Sets the totals of what was added and taken away, and all counts, to zero.
    pub fn reset_accumulated_statistics(&mut self) {
        self.add_up();
        self.statistics.reset_accumulated();
    }

    fn arena(&self, arena: ArenaId) -> &Arena<K> {
        self.spans.arena(arena)
    }

    fn arena_mut(&mut self, arena: ArenaId) -> &mut Arena<K> {
        self.spans.arena_mut(arena)
    }

    fn arena_ids(&self) -> impl Iterator<Item = ArenaId> {
        self.spans.arena_ids()
    }

    fn stream_of(&self, arena: ArenaId) -> K {
        self.arena(arena).home.stream
    }

    /// The arena for a home's requests of a kind, made at the first.
    fn arena_for(&mut self, home: StreamAndPool<K>, pool: Pool) -> ArenaId {
        // It lives again, if it had ended.
        self.pools.extend(home.pool);
        if let Some(id) = self.arena_of.get(&(home, pool)) {
            return *id;
        }
        if home.pool.is_none() {
            self.add_stream(home.stream);
            return self.arena_of[&(home, pool)];
        }
        let id = self.shared_arena(Arena::new(home, pool));
        self.arena_of.insert((home, pool), id);
        id
    }

    /// Puts an arena into the shared cache.
    fn shared_arena(&mut self, arena: Arena<K>) -> ArenaId {
        if let Some(id) = self.retired.pop() {
            *self.arena_mut(id) = arena;
            return id;
        }
        let shared = self.spans.cache_mut(SHARED);
        shared.arenas.push(arena);
        shared.id(shared.arenas.len() as u32 - 1)
    }

    /// The living pool that an arena's memory belongs to. Until memory is short, it serves nobody
    /// else.
    fn pool_in_use(&self, arena: ArenaId) -> Option<PoolOf> {
        self.arena(arena).home.pool.filter(|pool| self.pools.contains(pool))
    }

    /// Whether an arena's memory must stay where it is, whoever holds it.
    fn is_kept(&self, arena: ArenaId) -> bool {
        matches!(self.pool_in_use(arena), Some(PoolOf::Graphs(_)))
    }

    fn has_completed(&self, stream: K, sequence: u64) -> bool {
        self.pending.completed_on(stream) >= sequence
    }

    /// Lists a free span that was in no list, joined with neighbours in the same state.
    fn settle(&mut self, slot: Slot) -> Slot {
        self.spans.cache_mut(slot.slab()).settle(slot)
    }

    fn list(&mut self, slot: Slot) {
        self.spans.cache_mut(slot.slab()).list(slot);
    }

    fn unlist(&mut self, slot: Slot) {
        self.spans.cache_mut(slot.slab()).unlist(slot);
    }

    /// Cuts the range out of a listed span; the middle is in no list.
    fn cut_out(&mut self, slot: Slot, start: u64, end: u64) -> Slot {
        self.spans.cache_mut(slot.slab()).cut_out(slot, start, end)
    }

    fn free_block_for(&self, arena: ArenaId, bytes: u64) -> Option<(Slot, u64)> {
        self.spans.cache(arena.cache.into()).free_block_for(arena, bytes)
    }

    /// Joins a span with the one that follows it.
    fn join_next(&mut self, slot: Slot) {
        self.spans.cache_mut(slot.slab()).spans.join_next(slot);
    }

    /// Joins what was freed last with its neighbours, in all stream caches.
    fn join_fresh(&mut self) {
        self.spans.caches_mut().for_each(StreamCache::join_fresh);
    }

    /// Hands out `bytes` of a free block at an address, for a request of an arena.
    fn hand_out(
        &mut self,
        (free_block, address): (Slot, u64),
        bytes: u64,
        requested: u64,
        holder: ArenaId,
    ) -> Block {
        let pool = self.arena(holder).pool;
        let cache = self.spans.cache_mut(free_block.slab());
        let is_counted = cache.number() != SHARED && cache.local_stats.take(pool, bytes, requested);
        let mut block = cache.hand_out((free_block, address), bytes, requested, holder);
        if !is_counted {
            self.add_up();
            self.statistics.count_allocation(pool, bytes, requested);
            self.balance(free_block.slab());
        }
        let span = &self.spans[block.slot];
        if span.arena != holder {
            block.is_shared = true;
            block.last_use = span.uses.on(self.stream_of(span.arena), self.stream_of(holder));
        }
        block
    }

    /// Adds up what the stream caches have counted. Until they have [headroom](Stitched::balance) again, they
    /// count no request.
    fn add_up(&mut self) {
        for cache in self.spans.caches_mut() {
            let local_stats = std::mem::take(&mut cache.local_stats);
            cache.is_active |= local_stats.has_counted();
            local_stats.add_to(&mut self.statistics);
        }
    }

    /// Gives the stream caches what is left below all peaks: half of it to the one that needed it last, and
    /// equal parts of the rest to those others that were in use since. Where little is left, it would
    /// be lost on idle ones, and those in use would take it from each other for ever.
    /// They must have been added up before.
    fn balance(&mut self, needy: usize) {
        let held = self.statistics.allocated_bytes.all.current;
        self.most_held = self.most_held.max(held);
        let mut headroom_below_peaks = headroom_below_peaks(&self.statistics);
        let both = &mut headroom_below_peaks[2].bytes;
        *both = (*both).min(self.most_held - held);
        let is_other = |cache: &StreamCache<K>| cache.is_active && cache.number() != needy;
        let others = self.spans.caches().filter(|cache| is_other(cache)).count() as u64;
        for cache in self.spans.caches_mut().filter(|cache| cache.number() != SHARED) {
            if cache.number() == needy {
                cache.local_stats = LocalStats::with_half(&headroom_below_peaks);
            } else if is_other(cache) {
                cache.local_stats = LocalStats::with_part(&headroom_below_peaks, others);
            }
            cache.is_active = false;
        }
    }

    /// The bytes that are held.
    fn held(&self) -> u64 {
        let gained = self.spans.caches().map(|cache| cache.local_stats.bytes_gained()).sum::<i64>();
        self.statistics.allocated_bytes.all.current.strict_add_signed(gained)
    }

    /// Ends the wait of freed memory of the shared cache for its uses, if there was one. If its pool
    /// has ended since, graphs used it, too.
    fn complete_free(&mut self, slot: Slot) {
        let cache = self.spans.cache_mut(slot.slab());
        let StreamCache { spans, arenas, .. } = cache;
        let span = &mut spans[slot];
        let arena = &arenas[span.arena.index as usize];
        for (stream, last) in &arena.uses_of_graphs {
            span.uses.add(arena.home.stream, *stream, *last);
        }
        span.freed = self.operations;
        let (bytes, requested) = (span.bytes, std::mem::take(&mut span.requested));
        self.statistics.count_free_completed(pool_of(bytes), bytes, requested);
        self.make_available(slot);
    }

    /// Makes a free block of memory that is in no list.
    fn make_free_block(&mut self, slot: Slot) {
        self.spans[slot].state = SpanState::Free;
        self.settle(slot);
    }

    /// Whether there may be a page or more besides what there are, before memory moves.
    fn is_generous(&self, missing: u64, bytes: u64) -> bool {
        self.pages + missing <= self.generous_pages(bytes)
    }

    /// The pages that there may be before memory moves, if `bytes` more were held.
    ///
    /// A program that makes memory move again and again is given more of it, until it does not: for
    /// some calls beyond what is due, a page.
    fn generous_pages(&self, bytes: u64) -> u64 {
        let held = self.held() + bytes;
        let most = self.most_held.max(held);
        let due = CALLS_DUE_PER_PAGE * self.pages + self.operations / OPERATIONS_PER_CALL_DUE;
        let bought = self.calls.saturating_sub(due) / CALLS_FOR_A_PAGE;
        (most + (most / 50).max(LEAST_SPARE)).div_ceil(PAGE) + self.quarantine.pages() + bought
    }
}

impl<K: StreamName> Default for Stitched<K> {
    fn default() -> Self {
        Self::new()
    }
}
