//! The inputs of the stitching policy: requests, frees, completions, release.

use std::collections::BTreeSet;
use std::time::Duration;

use super::arena::ArenaId;
use super::pages::PAGE;
use super::span::SpanState;
use super::stream_cache::{SHARED, pool_of, rounded};
use super::{Stitched, StreamCache};
use crate::policy::source::Unable;
use crate::policy::{
    AllocateError, Block, ForeignBlock, LendPermit, MemorySource, Policy, PoolId, PoolOf,
    SourceDenial, StreamAndPool, StreamName,
};

/// What exceeds the addresses of any device, by far.
const MOST: u64 = 1 << 56;

impl<K: StreamName> Policy for Stitched<K> {
    type Stream = K;
    type Owner = StreamAndPool<K>;

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        requested: u64,
        home: StreamAndPool<K>,
    ) -> Result<Block, AllocateError<S::Error>> {
        let refuse = |policy: &Self| {
            let refused = SourceDenial::without_asking(requested);
            let rounded = rounded(requested).unwrap_or(u64::MAX);
            let report = policy.out_of_memory(requested, rounded, home, refused);
            Err(AllocateError::OutOfMemory(Box::new(report)))
        };
        let Some(bytes) = rounded(requested).filter(|bytes| *bytes <= MOST) else {
            return refuse(self);
        };
        self.operations += 1;
        let arena = self.arena_for(home, pool_of(bytes));
        let cache = self.spans.cache_mut(arena.cache.into());
        cache.clock = self.operations;
        if let Some(free_block) = cache.free_block_at_hand(arena, bytes) {
            return Ok(self.hand_out(free_block, bytes, requested, arena));
        }
        // Without virtual memory there are no addresses for anything.
        if source.virtual_memory().is_none() {
            return refuse(self);
        }
        let held = self.held();
        if held.saturating_add(bytes) > self.pages * PAGE
            && let Some(refused) = SourceDenial::beyond_all(source, held, bytes)
        {
            self.statistics.num_oom_rejections += 1;
            let report = self.out_of_memory(requested, bytes, home, refused);
            return Err(AllocateError::OutOfMemory(Box::new(report)));
        }
        let peaks = self.statistics.reserved_bytes;
        let outcome = self.map_or_reclaim(source, arena, bytes);
        if outcome.is_err() {
            self.statistics.reserved_bytes.forget_peaks_since(&peaks);
        }
        match outcome {
            Ok(free_block) => Ok(self.hand_out(free_block, bytes, requested, arena)),
            Err(Unable::Failed(error)) => Err(AllocateError::Source(error)),
            Err(Unable::Refused(refused)) => {
                let report = self.out_of_memory(requested, bytes, home, refused);
                Err(AllocateError::OutOfMemory(Box::new(report)))
            }
        }
    }

    fn free(&mut self, block: Block, uses: &[(K, u64)]) -> Result<(), ForeignBlock> {
        let slot = block.slot;
        let Some(span) = self.spans.get(slot).filter(|span| span.is_of(&block)) else {
            return Err(ForeignBlock(block));
        };
        self.operations += 1;
        let (arena, holder) = (span.arena, span.holder);
        let (stream, holding) = (self.stream_of(arena), self.stream_of(holder));
        let operations = self.operations;
        let cache = self.spans.cache_mut(slot.slab());
        if cache.number() != SHARED {
            cache.clock = operations;
            cache.spans[slot].uses.renew(stream, holding, uses);
            if cache.spans[slot].uses.has_others() {
                cache.count_free(slot);
                self.make_available(slot);
            } else {
                cache.end_hold(slot);
            }
            return Ok(());
        }
        self.statistics.count_free(pool_of(block.bytes), block.bytes);
        if self.is_kept(arena) {
            if self.pending.hold_back(slot, stream, uses, &mut self.spans[slot].uses) {
                self.spans[slot].state = SpanState::Waiting;
                return Ok(());
            }
        } else {
            self.spans[slot].uses.renew(stream, holding, uses);
        }
        self.complete_free(slot);
        Ok(())
    }

    fn waits_for(&self, block: &Block) -> impl Iterator<Item = (K, u64)> {
        let span = self.spans.get(block.slot);
        span.into_iter().flat_map(move |span| {
            let holder = self.stream_of(span.holder);
            let uses = span.uses.all(self.stream_of(span.arena));
            // Also what is known to be over: to wait for that costs nothing, and tells who looks for
            // races of the order.
            uses.filter(move |(stream, _)| *stream != holder)
        })
    }

    fn waits_before_reuse(&self, block: &Block) -> bool {
        self.spans.get(block.slot).is_some_and(|span| self.is_kept(span.arena))
    }

    fn end_pool(&mut self, pool: PoolId, uses: &[(K, u64)]) {
        self.pools.retain(|living| living.id() != pool);
        let ended = |id: &ArenaId| self.arena(*id).home.pool.map(PoolOf::id) == Some(pool);
        let ended: Vec<_> = self.arena_ids().filter(ended).collect();
        ended.into_iter().for_each(|arena| self.end_arena(arena, uses));
    }

    fn completed(&mut self, stream: K, sequence: u64) {
        self.has_news |= sequence > self.pending.completed_on(stream);
        for slot in self.pending.complete(stream, sequence) {
            self.complete_free(slot);
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let released = self.release_chunks(source);
        let streams = self.streams();
        self.pending.retain_streams(|stream| streams.contains(&stream));
        released
    }

    fn tick<S: MemorySource>(&mut self, source: &mut S, now: Duration, idle: Duration) -> u64 {
        self.trim(source, now, idle)
    }

    fn awaited_for_reuse(&self) -> impl Iterator<Item = (K, u64)> {
        self.pending.awaited()
    }

    fn awaited_for_release(&self) -> impl Iterator<Item = (K, u64)> {
        let stale = self.stale.iter().filter(|(slot, address)| self.is_stale_at(*slot, *address));
        let stale = stale.map(|(slot, _)| *slot).chain(self.unjoined());
        let free = self.free_chunks().filter(|(_, _, pages)| !pages.is_empty());
        let spans = stale.chain(free.map(|(_, slot, _)| slot)).map(|slot| &self.spans[slot]);
        spans
            .flat_map(|span| span.uses.all(self.stream_of(span.arena)))
            .filter(|(stream, sequence)| !self.has_completed(*stream, *sequence))
    }

    fn lend(&mut self, stream: K, _: LendPermit) -> Option<Box<StreamCache<K>>> {
        let mut cache = self.spans.lend(stream)?;
        (cache.clock, cache.lent_at) = (self.operations, self.operations);
        Some(cache)
    }

    fn take_back(&mut self, cache: Box<StreamCache<K>>, _: LendPermit) {
        self.operations += cache.clock - cache.lent_at;
        self.spans.take_back(cache);
    }

    fn end_stream(&mut self, stream: K) {
        self.stream_ended(stream);
    }

    fn streams(&self) -> BTreeSet<K> {
        let used = self.spans.iter().filter(|span| span.state != SpanState::Vacant);
        let waiting = self.pending.awaited().map(|(stream, _)| stream);
        let uses = used.flat_map(|span| span.uses.all(self.stream_of(span.arena)));
        // Also those that have nothing yet, or nothing any more: to learn when they are gone.
        let own = self.arena_of.keys().filter(|(home, _)| home.pool.is_none());
        let own = own.map(|(home, _)| home.stream);
        uses.map(|(stream, _)| stream).chain(waiting).chain(own).collect()
    }
}

impl<K: StreamName> Stitched<K> {
    /// Notes the last uses by graphs, which whoever gets memory of the arena comes after from now
    /// on.
    fn end_arena(&mut self, arena: ArenaId, uses: &[(K, u64)]) {
        let own = self.stream_of(arena);
        let firsts: Vec<_> = self.arena(arena).regions.iter().map(|region| region.first).collect();
        for first in firsts {
            let slots: Vec<_> = self.spans.from(first).map(|(slot, _)| slot).collect();
            for slot in slots {
                let span = &mut self.spans[slot];
                if span.state != SpanState::Vacant {
                    uses.iter().for_each(|(stream, last)| span.uses.add(own, *stream, *last));
                }
            }
        }
        self.arena_mut(arena).uses_of_graphs = uses.to_vec();
    }
}
