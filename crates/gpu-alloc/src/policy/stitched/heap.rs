//! All spans of a policy, with the arenas they belong to and what is known of the streams.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::arena::{ArenaId, StreamArena};
use super::cache_table::CacheTable;
use super::pages::{PAGE, whole};
use super::span::{Span, SpanState};
use super::stream_cache::SHARED;
use crate::policy::pending::PendingFrees;
use crate::policy::slab::SlabIndex;
use crate::policy::source::KnownVirtualMemory;
use crate::policy::uses::LastUses;
use crate::policy::{Address, MemorySource, Pool, PoolId, PoolOf, StreamAndPool, StreamName};

/// A stream's two arenas.
const POOLS: [Pool; 2] = [Pool::Small, Pool::Large];

/// Addresses in every state: who may use them, and until when work does.
///
/// It knows which pages have memory, and not where that comes from.
#[derive(Debug)]
pub(super) struct SpanHeap<K> {
    /// All spans and arenas, by stream cache.
    pub(super) caches: CacheTable<K>,
    arena_of: BTreeMap<(StreamAndPool<K>, Pool), ArenaId>,
    /// Arenas that nobody's requests go to, to be used again.
    retired: Vec<ArenaId>,
    /// The pools that are still in use.
    pools: BTreeSet<PoolOf>,
    /// Memory of graphs that was freed and waits for work on other streams, and how far each stream
    /// is known to have come.
    pub(super) pending: PendingFrees<K>,
    /// Counts requests and frees, to tell what was freed first.
    pub(super) clock: u64,
}

impl<K: StreamName> SpanHeap<K> {
    pub(super) fn arena(&self, arena: ArenaId) -> &StreamArena<K> {
        self.caches.arena(arena)
    }

    pub(super) fn arena_mut(&mut self, arena: ArenaId) -> &mut StreamArena<K> {
        self.caches.arena_mut(arena)
    }

    pub(super) fn arena_ids(&self) -> impl Iterator<Item = ArenaId> {
        self.caches.arena_ids()
    }

    pub(super) fn stream_of(&self, arena: ArenaId) -> K {
        self.arena(arena).owner.stream
    }

    /// The arena for an owner's requests of a kind, if there were any.
    pub(super) fn known_arena(&self, owner: StreamAndPool<K>, pool: Pool) -> Option<ArenaId> {
        self.arena_of.get(&(owner, pool)).copied()
    }

    /// The arenas by the pools of their owners, of those that have one.
    pub(super) fn arenas_of_pools(&self) -> impl Iterator<Item = (PoolId, ArenaId)> {
        let arenas = self.arena_of.iter();
        arenas.filter_map(|((owner, _), arena)| Some((owner.pool?.id(), *arena)))
    }

    /// The streams that have arenas outside of all pools.
    pub(super) fn streams_with_arenas(&self) -> impl Iterator<Item = K> {
        let own = self.arena_of.keys().filter(|(owner, _)| owner.pool.is_none());
        own.map(|(owner, _)| owner.stream)
    }

    /// The arena for an owner's requests of a kind, made at the first.
    pub(super) fn arena_for(&mut self, owner: StreamAndPool<K>, pool: Pool) -> ArenaId {
        // It lives again, if it had ended.
        self.pools.extend(owner.pool);
        if let Some(id) = self.arena_of.get(&(owner, pool)) {
            return *id;
        }
        if owner.pool.is_none() {
            self.add_stream(owner.stream);
            return self.arena_of[&(owner, pool)];
        }
        let id = self.shared_arena(StreamArena::new(owner, pool));
        self.arena_of.insert((owner, pool), id);
        id
    }

    /// Puts an arena into the shared cache.
    fn shared_arena(&mut self, arena: StreamArena<K>) -> ArenaId {
        if let Some(id) = self.retired.pop() {
            *self.arena_mut(id) = arena;
            return id;
        }
        let shared = self.caches.cache_mut(SHARED);
        shared.arenas.push(arena);
        shared.id(shared.arenas.len() as u32 - 1)
    }

    /// Finds arenas for a stream that has none: in a stream cache of its own, if there is one.
    fn add_stream(&mut self, stream: K) {
        let owner = StreamAndPool::from(stream);
        let own = match self.caches.add(stream) {
            Some(cache) => POOLS.map(|pool| cache.id(pool as u32)),
            None => POOLS.map(|pool| match self.caches.take_left(stream, pool) {
                Some(left) => left,
                None => self.shared_arena(StreamArena::new(owner, pool)),
            }),
        };
        self.arena_of.extend(POOLS.map(|pool| (owner, pool)).into_iter().zip(own));
    }

    /// Whether a stream holds any memory.
    pub(super) fn holds_any(&self, stream: K) -> bool {
        let own = POOLS.map(|pool| self.known_arena(stream.into(), pool));
        let is_held_by_it = |holder: ArenaId| own.contains(&Some(holder));
        self.caches.iter().any(|span| span.state == SpanState::Held && is_held_by_it(span.holder))
    }

    /// Forgets a stream whose work is over and that holds nothing. What it has left stays where it
    /// is, and serves all until another stream gets it.
    pub(super) fn stream_ended(&mut self, stream: K) {
        self.caches.caches_mut().for_each(|cache| cache.forget_uses(stream));
        self.pending.forget(stream);
        let own = POOLS.map(|pool| self.arena_of.remove(&(stream.into(), pool)));
        own.into_iter().flatten().for_each(|arena| self.caches.leave(arena));
    }

    /// Ends a pool. Whoever gets its memory from now on comes after the last `uses` of it by graphs.
    pub(super) fn end_pool(&mut self, pool: PoolId, uses: &[(K, u64)]) {
        self.pools.retain(|living| living.id() != pool);
        let ended = |id: &ArenaId| self.arena(*id).owner.pool.map(PoolOf::id) == Some(pool);
        let ended: Vec<_> = self.arena_ids().filter(ended).collect();
        ended.into_iter().for_each(|arena| self.end_arena(arena, uses));
    }

    fn end_arena(&mut self, arena: ArenaId, uses: &[(K, u64)]) {
        let own = self.stream_of(arena);
        let firsts: Vec<_> = self.arena(arena).regions.iter().map(|region| region.first).collect();
        for first in firsts {
            let slots: Vec<_> = self.caches.from(first).map(|(slot, _)| slot).collect();
            for slot in slots {
                let span = &mut self.caches[slot];
                if span.state != SpanState::Vacant {
                    uses.iter().for_each(|(stream, last)| span.uses.add(own, *stream, *last));
                }
            }
        }
        self.arena_mut(arena).uses_of_graphs = uses.to_vec();
    }

    /// Whether a part of a program is in a pool of its own.
    pub(super) fn has_pools_of_programs(&self) -> bool {
        self.pools.iter().any(|pool| matches!(pool, PoolOf::Program(_)))
    }

    /// The living pool that an arena's memory belongs to. Until memory is short, it serves nobody
    /// else.
    pub(super) fn pool_in_use(&self, arena: ArenaId) -> Option<PoolOf> {
        self.arena(arena).owner.pool.filter(|pool| self.pools.contains(pool))
    }

    /// Whether an arena's memory must stay where it is, whoever holds it.
    pub(super) fn is_kept(&self, arena: ArenaId) -> bool {
        matches!(self.pool_in_use(arena), Some(PoolOf::Graphs(_)))
    }

    /// The arenas whose memory and addresses a request of one of them may have when there is nothing
    /// else, its own first: those of its pool and stream, or all that no graphs keep.
    pub(super) fn arenas_that_serve(&self, arena: ArenaId) -> impl Iterator<Item = ArenaId> {
        let (is_apart, owner) = (self.is_kept(arena), self.arena(arena).owner);
        let others = self.arena_ids().filter(move |other| *other != arena);
        let serves = move |other: &ArenaId| match is_apart {
            true => self.arena(*other).owner == owner,
            false => !self.is_kept(*other),
        };
        std::iter::once(arena).chain(others.filter(serves))
    }

    pub(super) fn has_completed(&self, stream: K, sequence: u64) -> bool {
        self.pending.completed_on(stream) >= sequence
    }

    /// Whether all uses of a span are known to be over.
    pub(super) fn is_over(&self, slot: SlabIndex) -> bool {
        let span = &self.caches[slot];
        let own = self.stream_of(span.arena);
        span.uses.all(own).all(|(stream, sequence)| self.has_completed(stream, sequence))
    }

    /// Whether a span that was at an address when it became stale is so still.
    pub(super) fn is_stale_at(&self, slot: SlabIndex, address: u64) -> bool {
        let stale = |span: &Span<K>| span.state == SpanState::Stale && span.address == address;
        self.caches.get(slot).is_some_and(stale)
    }

    /// Makes a free block of memory that is in no list.
    pub(super) fn make_free_block(&mut self, slot: SlabIndex) {
        self.caches[slot].state = SpanState::Free;
        self.caches.settle(slot);
    }

    /// Notes that nothing is mapped at a span any more, which is in no list.
    pub(super) fn vacate(&mut self, slot: SlabIndex) {
        let span = &mut self.caches[slot];
        span.state = SpanState::Vacant;
        span.uses = LastUses::none();
        span.is_recycled = false;
        self.caches.settle(slot);
    }

    /// Each free block that graphs do not keep, with the pages of its whole chunks.
    pub(super) fn free_chunks(&self) -> impl Iterator<Item = (ArenaId, SlabIndex, Range<u64>)> {
        let arenas = self.arena_ids().filter(|id| !self.is_kept(*id));
        arenas.flat_map(move |id| {
            let blocks = self.arena(id).free_blocks.all_at_least(self.caches.of(id), PAGE);
            blocks.map(move |block| (id, block, self.whole_chunks(id, block)))
        })
    }

    /// The pages of a free block that whole chunks take; they are in one run.
    fn whole_chunks(&self, arena: ArenaId, free_block: SlabIndex) -> Range<u64> {
        let span = &self.caches[free_block];
        let pages = whole(span.address, span.end());
        match pages.is_empty() {
            true => pages,
            false => self.arena(arena).region_of(pages.start).whole_chunks(pages),
        }
    }

    /// Gives back the addresses of pools that have ended and have no memory any more; their arenas
    /// serve others, unless somebody still holds memory elsewhere that was asked for there.
    pub(super) fn retire_arenas<S: MemorySource>(&mut self, source: &mut S) {
        let ended = self.arena_of.iter().filter(|(_, id)| {
            self.arena(**id).owner.pool.is_some()
                && self.pool_in_use(**id).is_none()
                && self.is_vacant(**id)
        });
        let mut ended: Vec<_> = ended.map(|(key, id)| (*key, *id)).collect();
        if ended.is_empty() {
            return;
        }
        // A block that is held elsewhere remembers the arena that it was asked for in, by number.
        let holds = |span: &&Span<K>| matches!(span.state, SpanState::Held | SpanState::Waiting);
        let holders: BTreeSet<_> =
            self.caches.iter().filter(holds).map(|span| span.holder).collect();
        ended.retain(|(_, id)| !holders.contains(id));
        for (key, id) in ended {
            self.arena_of.remove(&key);
            for region in std::mem::take(&mut self.arena_mut(id).regions) {
                self.caches.remove_region(id, region.first);
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
            let first = &self.caches[region.first];
            first.state == SpanState::Vacant && first.bytes == region.bytes
        })
    }
}

impl<K> Default for SpanHeap<K>
where
    CacheTable<K>: Default,
    PendingFrees<K>: Default,
{
    fn default() -> Self {
        SpanHeap {
            caches: CacheTable::default(),
            arena_of: BTreeMap::new(),
            retired: Vec::new(),
            pools: BTreeSet::new(),
            pending: PendingFrees::default(),
            clock: 0,
        }
    }
}
