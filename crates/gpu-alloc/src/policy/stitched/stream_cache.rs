//! The memory of one stream, as far as its requests and frees need nobody else's.

use super::arena::{ArenaId, StreamArena};
use super::pages::{PAGE, touched};
use super::span::{SpanState, SpanTable};
use crate::policy::slab::SlabIndex;
use crate::policy::stream_caches::LocalStats;
use crate::policy::uses::LastUses;
use crate::policy::{Address, Block, Pool, StreamName};

/// Blocks are multiples of this.
pub(super) const ROUNDING: u64 = 512;
/// The largest request that shares pages with other small ones only.
const SMALL: u64 = PAGE / 8;
/// The size from which on a block does not take a free block that is much too large only because the
/// others are larger still.
const LARGE: u64 = 64 << 20;

/// The stream cache of all owners that have none of their own: those of graphs, and streams beyond
/// the number of stream caches.
pub(super) const SHARED: usize = 0;

/// The arenas of a stream, or of all owners that share a stream cache.
///
/// A request that fits into a free block of the stream, and a free, concern nothing outside of the
/// stream cache. So the policy can lend it to a [`StreamCaches`](crate::policy::StreamCaches).
#[derive(Debug)]
pub struct StreamCache<K> {
    number: usize,
    /// Whose it is, unless it is shared, or its stream is gone.
    stream: Option<K>,
    pub(super) spans: SpanTable<K>,
    /// The arena for small requests, then that for large ones; in the shared cache, all arenas in the
    /// order in which they were made.
    pub(super) arenas: Vec<StreamArena<K>>,
    /// The block that was freed last. A request of just that size gets it, and otherwise it is joined
    /// with its neighbours before anything else is done: to free and to allocate by turns costs
    /// little, and where things are placed hardly depends on it.
    fresh: Option<SlabIndex>,
    pub(super) local_stats: LocalStats,
    /// Whether it has counted anything since headroom was given out last, as far as that was added up.
    pub(super) is_active: bool,
    /// Counts requests and frees, to tell what was freed first.
    pub(super) clock: u64,
    /// The time of the clock when the stream cache was lent.
    pub(super) lent_at: u64,
}

impl<K: StreamName> StreamCache<K> {
    /// The stream cache of all owners that have none of their own.
    pub(super) fn shared() -> Self {
        StreamCache::new(SHARED, None, Vec::new())
    }

    /// The stream cache of one stream.
    pub(super) fn of_stream(number: usize, stream: K) -> Self {
        let arenas = [Pool::Small, Pool::Large].map(|pool| StreamArena::new(stream.into(), pool));
        StreamCache::new(number, Some(stream), arenas.into())
    }

    fn new(number: usize, stream: Option<K>, arenas: Vec<StreamArena<K>>) -> Self {
        let (spans, local_stats) = (SpanTable::new(number), LocalStats::default());
        let (fresh, is_active, clock, lent_at) = (None, false, 0, 0);
        StreamCache { number, stream, spans, arenas, fresh, local_stats, is_active, clock, lent_at }
    }

    /// A small number that no other stream cache of the policy has.
    pub(in crate::policy) fn number(&self) -> usize {
        self.number
    }

    /// Whose it is, unless it is shared, or its stream is gone.
    pub(in crate::policy) fn stream(&self) -> Option<K> {
        self.stream
    }

    /// Ends its being a stream's: the stream is gone, and its work over.
    pub(super) fn leave(&mut self) {
        self.stream = None;
    }

    /// Makes it another stream's, with all that its own has left.
    pub(super) fn pass(&mut self, to: K) {
        self.stream = Some(to);
        (0..self.arenas.len() as u32).for_each(|index| self.pass_arena(index, to));
    }

    /// Makes one of its arenas another stream's.
    pub(super) fn pass_arena(&mut self, index: u32, to: K) {
        let owner = &mut self.arenas[index as usize].owner;
        let from = std::mem::replace(&mut owner.stream, to);
        let spans = self.spans.iter_mut().filter(|span| span.arena.index == index);
        spans.for_each(|span| span.uses.pass(from, to));
    }

    /// Forgets the uses on a stream, which are over.
    pub(super) fn forget_uses(&mut self, stream: K) {
        for span in self.spans.iter_mut() {
            let own = self.arenas[span.arena.index as usize].owner.stream;
            span.uses.forget(own, stream);
        }
        for arena in &mut self.arenas {
            arena.idle.forget_stream(stream);
            arena.uses_of_graphs.retain(|(other, _)| *other != stream);
        }
    }

    /// Hands out at least `requested` bytes to the stream cache's stream, if that concerns nobody
    /// else: a free block is there, and no new peak is reached.
    #[inline(always)]
    pub(in crate::policy) fn allocate(&mut self, stream: K, requested: u64) -> Option<Block> {
        if self.stream != Some(stream) {
            return None;
        }
        let bytes = rounded(requested)?;
        let pool = pool_of(bytes);
        let arena = self.id(pool as u32);
        let free_block = self.free_block_at_hand(arena, bytes)?;
        if !self.local_stats.take(pool, bytes, requested) {
            self.put_back(free_block.0);
            return None;
        }
        self.clock += 1;
        Some(self.hand_out(free_block, bytes, requested, arena))
    }

    /// The work on other streams that the new owner of a block of this cache must come after.
    pub(in crate::policy) fn waits_for(&self, block: &Block) -> impl Iterator<Item = (K, u64)> {
        let span = self.spans.get(block.slot).filter(|span| span.is_of(block));
        span.into_iter().flat_map(|span| span.uses.others())
    }

    /// Takes a block back; false, and nothing is done, if that concerns anybody else: another stream
    /// has used it, or has held it.
    #[inline]
    pub(in crate::policy) fn free(&mut self, block: &Block, uses: &[(K, u64)]) -> bool {
        let slot = block.slot;
        let Some(span) = self.spans.get(slot).filter(|span| span.is_of(block)) else {
            return false;
        };
        let is_others = span.holder != span.arena
            || uses.iter().any(|(stream, _)| self.stream != Some(*stream))
            || uses.is_empty() && span.uses.has_others();
        if is_others {
            return false;
        }
        if let Some(last) = uses.iter().map(|(_, last)| *last).max() {
            self.spans[slot].uses = LastUses::of_own(last);
        }
        self.clock += 1;
        self.end_hold(slot);
        true
    }

    /// Makes a block the last that was freed.
    #[inline]
    pub(super) fn end_hold(&mut self, slot: SlabIndex) {
        self.join_fresh();
        self.count_free(slot);
        self.spans[slot].state = SpanState::Fresh;
        self.fresh = Some(slot);
    }

    /// Counts a block as free.
    #[inline]
    pub(super) fn count_free(&mut self, slot: SlabIndex) {
        let clock = self.clock;
        let span = &mut self.spans[slot];
        let (bytes, requested) = (span.bytes, std::mem::take(&mut span.requested));
        span.freed = clock;
        self.local_stats.give_back(pool_of(bytes), bytes, requested);
    }

    /// Joins what was freed last with its neighbours.
    #[inline]
    pub(super) fn join_fresh(&mut self) {
        if let Some(slot) = self.fresh.take() {
            self.spans[slot].state = SpanState::Free;
            self.settle(slot);
        }
    }

    /// The block that was freed last, while it is not joined with its neighbours.
    pub(super) fn fresh(&self) -> Option<SlabIndex> {
        self.fresh
    }

    /// A free block for a request, and where in it.
    #[inline]
    pub(super) fn free_block_at_hand(
        &mut self,
        arena: ArenaId,
        bytes: u64,
    ) -> Option<(SlabIndex, u64)> {
        if let Some(slot) = self.fresh {
            let span = &self.spans[slot];
            if span.bytes == bytes && span.arena == arena {
                self.fresh = None;
                return Some((slot, span.address));
            }
            self.join_fresh();
        }
        self.free_block_for(arena, bytes)
    }

    /// Undoes [`hole_at_hand`](StreamCache::hole_at_hand).
    fn put_back(&mut self, free_block: SlabIndex) {
        if self.spans[free_block].state == SpanState::Fresh {
            self.fresh = Some(free_block);
        }
    }

    /// Hands out `bytes` of a free block at an address, for a request of an arena.
    #[inline(always)]
    pub(super) fn hand_out(
        &mut self,
        (free_block, address): (SlabIndex, u64),
        bytes: u64,
        requested: u64,
        holder: ArenaId,
    ) -> Block {
        let slot = match self.spans[free_block].state {
            // It is of just that size, and in no list.
            SpanState::Fresh => free_block,
            _ => self.cut_out(free_block, address, address + bytes),
        };
        let span = &mut self.spans[slot];
        self.arenas[span.arena.index as usize].idle.forget(touched(address, address + bytes));
        span.state = SpanState::Held;
        span.requested = requested;
        span.holder = holder;
        let is_recycled = std::mem::replace(&mut span.is_recycled, true);
        let (last_use, is_shared) = (span.uses.own, span.uses.has_others());
        Block { slot, address: Address(address), bytes, last_use, is_recycled, is_shared }
    }

    /// Takes a span out of the list of its arena that it is in, to change it.
    #[inline]
    pub(super) fn unlist(&mut self, slot: SlabIndex) {
        let StreamCache { arenas, spans, .. } = self;
        let span = &spans[slot];
        let arena = &mut arenas[span.arena.index as usize];
        match span.state {
            SpanState::Free => arena.free_blocks.remove(spans, slot),
            SpanState::Vacant => {
                arena.vacant.remove(&(span.address, slot));
            }
            _ => {}
        }
    }

    /// Puts a span into the list of its arena that it belongs to.
    #[inline]
    pub(super) fn list(&mut self, slot: SlabIndex) {
        let StreamCache { arenas, spans, .. } = self;
        let span = &spans[slot];
        let arena = &mut arenas[span.arena.index as usize];
        match span.state {
            SpanState::Free => arena.free_blocks.insert(spans, slot),
            SpanState::Vacant => {
                arena.vacant.insert((span.address, slot));
            }
            _ => {}
        }
    }

    /// Lists a free span that was in no list, joined with neighbours in the same state.
    #[inline]
    pub(super) fn settle(&mut self, mut slot: SlabIndex) -> SlabIndex {
        let span = &self.spans[slot];
        let like = |neighbour: &SlabIndex| self.spans[*neighbour].state == span.state;
        let (previous, next) = (span.previous.filter(like), span.next.filter(like));
        if let Some(next) = next {
            self.unlist(next);
            self.spans.join_next(slot);
        }
        if let Some(previous) = previous {
            self.unlist(previous);
            self.spans.join_next(previous);
            slot = previous;
        }
        self.list(slot);
        slot
    }

    /// Cuts the range out of a listed span; the parts before and after stay listed. The middle is
    /// in no list.
    #[inline]
    pub(super) fn cut_out(&mut self, mut slot: SlabIndex, start: u64, end: u64) -> SlabIndex {
        self.unlist(slot);
        if start > self.spans[slot].address {
            let rest = self.spans.cut(slot, start);
            self.list(slot);
            slot = rest;
        }
        if end < self.spans[slot].end() {
            let rest = self.spans.cut(slot, end);
            self.list(rest);
        }
        slot
    }

    /// About the smallest free block for `bytes`, and its first address. For a large block that no
    /// free block fits, the lowest one: so the memory at high addresses stays free in one chunk, for
    /// the largest.
    ///
    /// A block that grows is allocated anew before the old one is freed. Where there are many, as
    /// in caches of keys and values, each moves into what the one before has left. From the first
    /// address on they stay close together; at the other end, each would leave a gap.
    #[inline]
    pub(super) fn free_block_for(&self, arena: ArenaId, bytes: u64) -> Option<(SlabIndex, u64)> {
        let mut slot = self.arena(arena).free_blocks.smallest(&self.spans, bytes)?;
        if bytes >= LARGE && !fits(bytes, self.spans[slot].bytes) {
            slot = self.lowest_free_block(arena, bytes)?;
        }
        Some((slot, self.spans[slot].address))
    }

    /// The first of the free blocks that are large enough; to be asked for large blocks, as of their
    /// size there are few.
    fn lowest_free_block(&self, arena: ArenaId, bytes: u64) -> Option<SlabIndex> {
        let free_blocks = self.arena(arena).free_blocks.all_at_least(&self.spans, bytes);
        free_blocks.min_by_key(|slot| self.spans[*slot].address)
    }

    /// The name of one of its arenas.
    #[inline]
    pub(super) fn id(&self, index: u32) -> ArenaId {
        ArenaId { cache: self.number as u16, index }
    }

    pub(super) fn arena(&self, id: ArenaId) -> &StreamArena<K> {
        &self.arenas[id.index as usize]
    }
}

/// The size of a block for a request, if there is one.
#[inline]
pub(super) fn rounded(requested: u64) -> Option<u64> {
    requested.max(1).checked_next_multiple_of(ROUNDING)
}

/// The kind of arena that serves blocks of a size.
#[inline]
pub(super) fn pool_of(bytes: u64) -> Pool {
    if bytes <= SMALL { Pool::Small } else { Pool::Large }
}

/// Whether a block leaves little of a free block: two fifths of its own size at most.
///
/// A large block that leaves more is placed at the lowest address instead, so that free memory gathers
/// at high addresses, for the largest requests (ADR 022).
fn fits(bytes: u64, free_block: u64) -> bool {
    free_block - bytes <= bytes / 5 * 2
}
