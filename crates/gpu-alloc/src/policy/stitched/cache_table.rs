//! All stream caches together: spans and arenas by their names.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::arena::{ArenaId, StreamArena};
use super::span::{Span, SpanTable};
use super::stream_cache::{SHARED, StreamCache};
use crate::policy::slab::SlabIndex;
use crate::policy::{Pool, StreamName};

/// The stream caches of a policy by their numbers. The first is the shared one.
#[derive(Debug)]
pub(super) struct CacheTable<K> {
    all: Vec<Option<Box<StreamCache<K>>>>,
    /// The memory that streams which are gone have left, in the order in which they went: stream
    /// caches, by one of their arenas, and arenas of the shared cache.
    left: VecDeque<ArenaId>,
}

/// No stream cache is lent while the policy can be called: see [`Lending`](crate::policy::Lending).
const AT_HOME: &str = "the policy works when it has all its caches";

impl<K: StreamName> CacheTable<K> {
    pub(super) fn cache(&self, number: usize) -> &StreamCache<K> {
        self.all[number].as_deref().expect(AT_HOME)
    }

    pub(super) fn cache_mut(&mut self, number: usize) -> &mut StreamCache<K> {
        self.all[number].as_deref_mut().expect(AT_HOME)
    }

    pub(super) fn caches(&self) -> impl Iterator<Item = &StreamCache<K>> {
        self.all.iter().map(|cache| cache.as_deref().expect(AT_HOME))
    }

    pub(super) fn caches_mut(&mut self) -> impl Iterator<Item = &mut StreamCache<K>> {
        self.all.iter_mut().map(|cache| cache.as_deref_mut().expect(AT_HOME))
    }

    /// A stream cache for a stream: a new one as long as there may be more, or else one that was left.
    pub(super) fn add(&mut self, stream: K) -> Option<&StreamCache<K>> {
        let number = self.all.len();
        if number < SlabIndex::SLABS {
            self.all.push(Some(Box::new(StreamCache::of_stream(number, stream))));
            return Some(self.cache(number));
        }
        let left = self.left.iter().position(|arena| usize::from(arena.cache) != SHARED)?;
        let number = self.left.remove(left)?.cache.into();
        self.cache_mut(number).pass(stream);
        Some(self.cache(number))
    }

    /// An arena of the shared cache that was left, for a stream without a stream cache.
    pub(super) fn take_left(&mut self, stream: K, pool: Pool) -> Option<ArenaId> {
        let is_one = |id: &ArenaId| usize::from(id.cache) == SHARED && self.arena(*id).pool == pool;
        let left = self.left.iter().position(is_one)?;
        let id = self.left.remove(left)?;
        self.cache_mut(SHARED).pass_arena(id.index, stream);
        Some(id)
    }

    /// Keeps what a stream that is gone has left, by one of its arenas.
    pub(super) fn leave(&mut self, arena: ArenaId) {
        let cache = self.cache_mut(arena.cache.into());
        if cache.number() == SHARED || cache.stream().is_some() {
            cache.leave();
            self.left.push_back(arena);
        }
    }

    /// Takes the stream cache of a stream away to be used elsewhere; nothing if it is away already,
    /// or there is none.
    pub(super) fn lend(&mut self, stream: K) -> Option<Box<StreamCache<K>>> {
        let is_of = |cache: &Option<Box<StreamCache<K>>>| {
            cache.as_deref().is_some_and(|cache| cache.stream() == Some(stream))
        };
        self.all.iter_mut().find(|cache| is_of(cache))?.take()
    }

    pub(super) fn take_back(&mut self, cache: Box<StreamCache<K>>) {
        let number = cache.number();
        self.all[number] = Some(cache);
    }

    pub(super) fn arena(&self, id: ArenaId) -> &StreamArena<K> {
        &self.cache(id.cache.into()).arenas[id.index as usize]
    }

    pub(super) fn arena_mut(&mut self, id: ArenaId) -> &mut StreamArena<K> {
        &mut self.cache_mut(id.cache.into()).arenas[id.index as usize]
    }

    /// The spans that an arena's are among.
    pub(super) fn of(&self, arena: ArenaId) -> &SpanTable<K> {
        &self.cache(arena.cache.into()).spans
    }

    /// All arenas.
    pub(super) fn arena_ids(&self) -> impl Iterator<Item = ArenaId> {
        self.caches().flat_map(|cache| (0..cache.arenas.len() as u32).map(|index| cache.id(index)))
    }

    /// The spans of all stream caches, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Span<K>> {
        self.caches().flat_map(|cache| cache.spans.iter())
    }

    /// The spans from `slot` on, in order.
    pub(super) fn from(&self, slot: SlabIndex) -> impl Iterator<Item = (SlabIndex, &Span<K>)> {
        self.cache(slot.slab()).spans.from(slot)
    }

    /// The span from `slot` on that holds an address of the same region.
    pub(super) fn find_from(&self, slot: SlabIndex, address: u64) -> SlabIndex {
        self.cache(slot.slab()).spans.find_from(slot, address)
    }

    /// Lists a free span that was in no list, joined with neighbours in the same state.
    pub(super) fn settle(&mut self, slot: SlabIndex) -> SlabIndex {
        self.cache_mut(slot.slab()).settle(slot)
    }

    /// Puts a span into the list of its arena that it belongs to.
    pub(super) fn list(&mut self, slot: SlabIndex) {
        self.cache_mut(slot.slab()).list(slot);
    }

    /// Cuts the range out of a listed span; the middle is in no list.
    pub(super) fn cut_out(&mut self, slot: SlabIndex, start: u64, end: u64) -> SlabIndex {
        self.cache_mut(slot.slab()).cut_out(slot, start, end)
    }

    /// Joins a span with the one that follows it.
    pub(super) fn join_next(&mut self, slot: SlabIndex) {
        self.cache_mut(slot.slab()).spans.join_next(slot);
    }

    /// Joins what was freed last with its neighbours, in all stream caches.
    pub(super) fn join_fresh(&mut self) {
        self.caches_mut().for_each(StreamCache::join_fresh);
    }

    /// Removes a region of an arena that is one listed span.
    pub(super) fn remove_region(&mut self, arena: ArenaId, first: SlabIndex) {
        let cache = self.cache_mut(arena.cache.into());
        cache.unlist(first);
        cache.spans.remove_region(first);
    }

    /// A free block of an arena for `bytes`, and its first address.
    pub(super) fn free_block_for(&self, arena: ArenaId, bytes: u64) -> Option<(SlabIndex, u64)> {
        self.cache(arena.cache.into()).free_block_for(arena, bytes)
    }

    /// The span that a slot may name, if it is one.
    pub(super) fn get(&self, slot: SlabIndex) -> Option<&Span<K>> {
        self.all.get(slot.slab())?.as_deref().expect(AT_HOME).spans.get(slot)
    }
}

impl<K: StreamName> Index<SlabIndex> for CacheTable<K> {
    type Output = Span<K>;

    fn index(&self, slot: SlabIndex) -> &Span<K> {
        &self.cache(slot.slab()).spans[slot]
    }
}

impl<K: StreamName> IndexMut<SlabIndex> for CacheTable<K> {
    fn index_mut(&mut self, slot: SlabIndex) -> &mut Span<K> {
        &mut self.cache_mut(slot.slab()).spans[slot]
    }
}

impl<K: StreamName> Default for CacheTable<K> {
    fn default() -> Self {
        CacheTable { all: vec![Some(Box::new(StreamCache::shared()))], left: VecDeque::new() }
    }
}
