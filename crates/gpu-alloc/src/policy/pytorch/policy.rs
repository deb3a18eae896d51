//! The inputs of PyTorch's policy: requests, frees, completions, release.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Pytorch;
use super::size::RequestSize;
use crate::policy::slab::SlabIndex;
use crate::policy::{
    AllocateError, Block, ForeignBlock, MemorySource, Policy, Pool, PoolId, StreamAndPool,
    StreamName,
};

impl<K: StreamName> Policy for Pytorch<K> {
    type Stream = K;
    type Owner = StreamAndPool<K>;

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        owner: StreamAndPool<K>,
    ) -> Result<Block, AllocateError<S::Error>> {
        self.allocate_with(source, bytes, owner, |_| ())
    }

    fn free(&mut self, block: Block, uses: &[(K, u64)]) -> Result<(), ForeignBlock> {
        let Some(held) = self.heap.held(&block) else { return Err(ForeignBlock(block)) };
        let (own, pool) = (held.note.owner.stream, held.note.pool);
        let Block { slot, bytes, .. } = block;
        for (_, sequence) in uses.iter().filter(|(stream, _)| *stream == own) {
            self.heap.note_use(slot, *sequence);
        }
        self.accounts.block_freed(pool, bytes);
        // Uses on the own stream hold nothing back: the next owner's work comes later in the same
        // queue. PyTorch records events for the others (`insert_events`) and polls them.
        if self.pending.hold(slot, uses.iter().copied().filter(|(stream, _)| *stream != own)) {
            self.heap.hold_back(slot);
        } else {
            self.complete_free(slot);
        }
        Ok(())
    }

    fn end_pool(&mut self, pool: PoolId, _uses: &[(K, u64)]) {
        self.pools.end(pool);
    }

    fn completed(&mut self, stream: K, sequence: u64) {
        for slot in self.pending.complete(stream, sequence) {
            self.complete_free(slot);
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let released =
            self.release_segments(source, |_| true) + self.release_pages(source, |_| true);
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
        self.releasable()
            .map(|slot| &self.heap[slot].note)
            .map(|note| (note.owner.stream, note.last_use))
            .filter(|(stream, last_use)| *last_use > self.pending.completed_on(*stream))
    }

    fn streams(&self) -> BTreeSet<K> {
        let owners = self.heap.iter().map(|block| block.note.owner.stream);
        owners.chain(self.pending.awaited().map(|(stream, _)| stream)).collect()
    }
}

impl<K: StreamName> Pytorch<K> {
    /// Hands out memory as [`allocate`](Policy::allocate) does, and lets the caller have a say before
    /// everything that may be released is: a caller that may block can wait for what is awaited, and
    /// tell of it ([`completed`](Policy::completed)), so that more is released.
    ///
    /// That is how PyTorch goes about it. Memory that becomes free by the wait is released if it can
    /// be, and not searched otherwise, until the next request.
    ///
    /// # Errors
    /// As `allocate`.
    pub fn allocate_with<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        owner: StreamAndPool<K>,
        before_release: impl FnOnce(&mut Self),
    ) -> Result<Block, AllocateError<S::Error>> {
        self.pools.note(owner.pool);
        let size = self.sizes.of(bytes);
        let slot = match self.heap.take_best_fit(size, owner, &self.sizes) {
            Some(slot) => slot,
            None => self.more_memory(source, bytes, size, owner, before_release)?,
        };
        Ok(self.hand_out(slot, bytes, size))
    }

    /// Makes a free block that is in no set the program's, and counts it.
    fn hand_out(&mut self, slot: SlabIndex, requested: u64, size: RequestSize) -> Block {
        let block = self.heap.hand_out(slot, requested, size, &self.sizes);
        self.accounts.block_handed_out(size.pool, block.bytes, requested);
        self.count_inactive(size.pool);
        block
    }

    /// Ends the wait of a freed block.
    fn complete_free(&mut self, slot: SlabIndex) {
        let (pool, bytes, requested) = self.heap.free(slot);
        self.accounts.block_reusable(pool, bytes, requested);
        self.count_inactive(pool);
    }

    fn count_inactive(&mut self, pool: Pool) {
        self.accounts.set_inactive_split(pool, self.heap.free_set(pool).split());
    }
}
