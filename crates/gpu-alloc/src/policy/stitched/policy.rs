//! The inputs of the stitching policy: requests, frees, completions, release.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Stitched;
use super::heap::SpanHeap;
use super::pages::PAGE;
use super::span::SpanState;
use super::stream_cache::{SHARED, StreamCache, pool_of, rounded};
use crate::policy::source::Unable;
use crate::policy::{
    AllocateError, Block, ForeignBlock, LendPermit, MemorySource, Policy, PoolId, SourceDenial,
    StreamAndPool, StreamName,
};

/// The largest request that is looked at: by far more than the addresses of any device.
const MAX_BYTES: u64 = 1 << 56;

impl<K: StreamName> Policy for Stitched<K> {
    type Stream = K;
    type Owner = StreamAndPool<K>;

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        requested: u64,
        owner: StreamAndPool<K>,
    ) -> Result<Block, AllocateError<S::Error>> {
        let refuse = |policy: &Self| {
            let refused = SourceDenial::without_asking(requested);
            let rounded = rounded(requested).unwrap_or(u64::MAX);
            let report = policy.out_of_memory(requested, rounded, owner, refused);
            Err(AllocateError::OutOfMemory(Box::new(report)))
        };
        let Some(bytes) = rounded(requested).filter(|bytes| *bytes <= MAX_BYTES) else {
            return refuse(self);
        };
        self.heap.clock += 1;
        let arena = self.heap.arena_for(owner, pool_of(bytes));
        let cache = self.heap.caches.cache_mut(arena.cache.into());
        cache.clock = self.heap.clock;
        if let Some(free_block) = cache.free_block_at_hand(arena, bytes) {
            return Ok(self.hand_out(free_block, bytes, requested, arena));
        }
        // Without virtual memory there are no addresses for anything.
        if source.virtual_memory().is_none() {
            return refuse(self);
        }
        let held = self.held();
        if held.saturating_add(bytes) > self.mapper.chunks.pages() * PAGE
            && let Some(refused) = SourceDenial::beyond_all(source, held, bytes)
        {
            self.accounts.counted_mut().num_oom_rejections += 1;
            let report = self.out_of_memory(requested, bytes, owner, refused);
            return Err(AllocateError::OutOfMemory(Box::new(report)));
        }
        // A request that fails may have had chunks for a while that went back at once. The program
        // never had them, so they are no peak of its memory.
        let peaks = self.mapper.reserved();
        let outcome = self.map_or_reclaim(source, arena, bytes);
        if outcome.is_err() {
            self.mapper.forget_peaks_since(&peaks);
        }
        match outcome {
            Ok(free_block) => Ok(self.hand_out(free_block, bytes, requested, arena)),
            Err(Unable::Failed(error)) => Err(AllocateError::Source(error)),
            Err(Unable::Refused(refused)) => {
                let report = self.out_of_memory(requested, bytes, owner, refused);
                Err(AllocateError::OutOfMemory(Box::new(report)))
            }
        }
    }

    fn free(&mut self, block: Block, uses: &[(K, u64)]) -> Result<(), ForeignBlock> {
        let slot = block.slot;
        let Some(span) = self.heap.caches.get(slot).filter(|span| span.is_of(&block)) else {
            return Err(ForeignBlock(block));
        };
        self.heap.clock += 1;
        let (arena, holder) = (span.arena, span.holder);
        let (stream, holding) = (self.heap.stream_of(arena), self.heap.stream_of(holder));
        let clock = self.heap.clock;
        let cache = self.heap.caches.cache_mut(slot.slab());
        if cache.number() != SHARED {
            cache.clock = clock;
            cache.spans[slot].uses.renew(stream, holding, uses);
            if cache.spans[slot].uses.has_others() {
                cache.count_free(slot);
                self.make_available(slot);
            } else {
                cache.end_hold(slot);
            }
            return Ok(());
        }
        self.accounts.counted_mut().count_free(pool_of(block.bytes), block.bytes);
        // Captured work cannot wait for work that runs outside of its graph, so memory of graphs comes
        // back only when all is over.
        if self.heap.is_kept(arena) {
            let SpanHeap { pending, caches, .. } = &mut self.heap;
            if pending.hold_back(slot, stream, uses, &mut caches[slot].uses) {
                self.heap.caches[slot].state = SpanState::Waiting;
                return Ok(());
            }
        } else {
            self.heap.caches[slot].uses.renew(stream, holding, uses);
        }
        self.complete_free(slot);
        Ok(())
    }

    fn waits_for(&self, block: &Block) -> impl Iterator<Item = (K, u64)> {
        let span = self.heap.caches.get(block.slot);
        span.into_iter().flat_map(move |span| {
            let holder = self.heap.stream_of(span.holder);
            let uses = span.uses.all(self.heap.stream_of(span.arena));
            // Also what is known to be over: to wait for that costs nothing, and tells who looks for
            // races of the order.
            uses.filter(move |(stream, _)| *stream != holder)
        })
    }

    fn waits_before_reuse(&self, block: &Block) -> bool {
        self.heap.caches.get(block.slot).is_some_and(|span| self.heap.is_kept(span.arena))
    }

    fn end_pool(&mut self, pool: PoolId, uses: &[(K, u64)]) {
        self.heap.end_pool(pool, uses);
    }

    fn completed(&mut self, stream: K, sequence: u64) {
        if sequence > self.heap.pending.completed_on(stream) {
            self.mapper.stale.note_progress();
        }
        for slot in self.heap.pending.complete(stream, sequence) {
            self.complete_free(slot);
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let released = self.release_chunks(source);
        let streams = self.streams();
        self.heap.pending.retain_streams(|stream| streams.contains(&stream));
        released
    }

    fn tick<S: MemorySource>(&mut self, source: &mut S, now: Duration, idle: Duration) -> u64 {
        self.trim(source, now, idle)
    }

    fn awaited_for_reuse(&self) -> impl Iterator<Item = (K, u64)> {
        self.heap.pending.awaited()
    }

    fn awaited_for_release(&self) -> impl Iterator<Item = (K, u64)> {
        let stale = self.mapper.stale.iter();
        let stale = stale.filter(|(slot, address)| self.heap.is_stale_at(*slot, *address));
        let stale = stale.map(|(slot, _)| slot).chain(self.unjoined());
        let free = self.heap.free_chunks().filter(|(_, _, pages)| !pages.is_empty());
        let spans = stale.chain(free.map(|(_, slot, _)| slot)).map(|slot| &self.heap.caches[slot]);
        spans
            .flat_map(|span| span.uses.all(self.heap.stream_of(span.arena)))
            .filter(|(stream, sequence)| !self.heap.has_completed(*stream, *sequence))
    }

    fn lend(&mut self, stream: K, _: LendPermit) -> Option<Box<StreamCache<K>>> {
        let mut cache = self.heap.caches.lend(stream)?;
        (cache.clock, cache.lent_at) = (self.heap.clock, self.heap.clock);
        Some(cache)
    }

    fn take_back(&mut self, cache: Box<StreamCache<K>>, _: LendPermit) {
        self.heap.clock += cache.clock - cache.lent_at;
        self.heap.caches.take_back(cache);
    }

    fn end_stream(&mut self, stream: K) {
        if self.heap.holds_any(stream) {
            return;
        }
        self.completed(stream, u64::MAX);
        self.heap.stream_ended(stream);
        self.mapper.stale.note_progress();
    }

    fn streams(&self) -> BTreeSet<K> {
        let used = self.heap.caches.iter().filter(|span| span.state != SpanState::Vacant);
        let waiting = self.heap.pending.awaited().map(|(stream, _)| stream);
        let uses = used.flat_map(|span| span.uses.all(self.heap.stream_of(span.arena)));
        // Also those that have nothing yet, or nothing any more: to learn when they are gone.
        let own = self.heap.streams_with_arenas();
        uses.map(|(stream, _)| stream).chain(waiting).chain(own).collect()
    }
}
