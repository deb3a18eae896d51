//! The inputs of PyTorch's policy: requests, frees, completions, release.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{LinkedBlock, LinkedBlockState, Pytorch};
use crate::policy::{
    AllocateError, Block, ForeignBlock, MemorySource, Policy, PoolId, StreamAndPool, StreamName,
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
        let Block { slot, address, bytes, .. } = block;
        let ours = |record: &LinkedBlock<K>| {
            record.state == LinkedBlockState::Allocated
                && (record.address, record.bytes) == (address, bytes)
        };
        if !self.blocks.get(slot).is_some_and(ours) {
            return Err(ForeignBlock(block));
        }
        let record = &mut self.blocks[slot];
        let (own, pool, bytes) = (record.owner.stream, record.pool, record.bytes);
        for (_, sequence) in uses.iter().filter(|(stream, _)| *stream == own) {
            record.last_use = record.last_use.max(*sequence);
        }
        self.statistics.count_free(pool, bytes);
        if bytes >= self.sizes.max_split() {
            self.statistics.oversize_allocations.decrease(1);
        }
        if self.pending.hold(slot, uses.iter().copied().filter(|(stream, _)| *stream != own)) {
            self.blocks[slot].state = LinkedBlockState::PendingFrees;
        } else {
            self.complete_free(slot);
        }
        Ok(())
    }

    fn end_pool(&mut self, pool: PoolId, _uses: &[(K, u64)]) {
        self.pools.retain(|living| living.id() != pool);
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
            .map(|slot| (self.blocks[slot].owner.stream, self.blocks[slot].last_use))
            .filter(|(stream, last_use)| *last_use > self.pending.completed_on(*stream))
    }

    fn streams(&self) -> BTreeSet<K> {
        let homes = self.blocks.iter().map(|block| block.owner.stream);
        homes.chain(self.pending.awaited().map(|(stream, _)| stream)).collect()
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
        self.pools.extend(owner.pool);
        let size = self.sizes.of(bytes);
        let slot = match self.best_fit(size, owner) {
            Some(free) => {
                self.free_set_mut(size.pool).remove(free);
                free.slot
            }
            None => self.more_memory(source, bytes, size, owner, before_release)?,
        };
        Ok(self.hand_out(slot, bytes, size))
    }
}
