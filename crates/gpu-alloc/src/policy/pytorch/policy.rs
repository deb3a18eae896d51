//! The inputs of PyTorch's native policy: requests, frees, completions, release.

use std::collections::BTreeSet;

use super::free_set::FreeBlock;
use super::size::Size;
use super::{Pytorch, Record, State};
use crate::policy::report::refusal;
use crate::policy::slab::Slot;
use crate::policy::{
    AllocateError, Block, ForeignBlock, Home, MemorySource, OutOfMemoryReport, Policy, PoolId,
    Refusal, StreamName,
};

impl<K: StreamName> Policy for Pytorch<K> {
    type Stream = K;
    type Home = Home<K>;

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        home: Home<K>,
    ) -> Result<Block, AllocateError<S::Error>> {
        self.pools.extend(home.pool);
        let size = Size::of(bytes);
        let slot = match self.free_set(size.pool).best_fit(home, size.rounded) {
            Some(free) => {
                self.free_set_mut(size.pool).remove(free);
                free.slot
            }
            None => self.new_segment(source, bytes, size, home)?,
        };
        Ok(self.hand_out(slot, bytes, size))
    }

    fn free(&mut self, block: Block, uses: &[(K, u64)]) -> Result<(), ForeignBlock> {
        let Block { slot, address, .. } = block;
        let ours =
            |record: &Record<K>| record.state == State::Allocated && record.address == address;
        if !self.blocks.get(slot).is_some_and(ours) {
            return Err(ForeignBlock(block));
        }
        let record = &mut self.blocks[slot];
        let (own, pool, bytes) = (record.home.stream, record.pool, record.bytes);
        for (_, sequence) in uses.iter().filter(|(stream, _)| *stream == own) {
            record.last_use = record.last_use.max(*sequence);
        }
        self.statistics.allocation.decrease(pool, 1);
        self.statistics.allocated_bytes.decrease(pool, bytes);
        if self.pending.hold(slot, uses.iter().copied().filter(|(stream, _)| *stream != own)) {
            self.blocks[slot].state = State::Pending;
        } else {
            self.complete_free(slot);
        }
        Ok(())
    }

    fn end_pool(&mut self, pool: PoolId) {
        self.pools.remove(&pool);
    }

    fn completed(&mut self, stream: K, sequence: u64) {
        for slot in self.pending.complete(stream, sequence) {
            self.complete_free(slot);
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let idle: Vec<_> = self
            .whole_segments()
            .filter(|(free, last_use)| *last_use <= self.pending.completed_on(free.home.stream))
            .collect();
        let mut released = 0;
        for (free, _) in idle {
            let pool = self.blocks[free.slot].pool;
            self.free_set_mut(pool).remove(free);
            self.blocks.remove(free.slot);
            source.release(free.address, free.bytes);
            self.statistics.segment.decrease(pool, 1);
            self.statistics.reserved_bytes.decrease(pool, free.bytes);
            self.statistics.num_device_free += 1;
            released += free.bytes;
        }
        let streams = self.streams();
        self.pending.retain_streams(|stream| streams.contains(&stream));
        released
    }

    fn awaited_for_reuse(&self) -> impl Iterator<Item = (K, u64)> {
        self.pending.awaited()
    }

    fn awaited_for_release(&self) -> impl Iterator<Item = (K, u64)> {
        self.whole_segments()
            .map(|(free, last_use)| (free.home.stream, last_use))
            .filter(|(stream, last_use)| *last_use > self.pending.completed_on(*stream))
    }

    fn streams(&self) -> BTreeSet<K> {
        let homes = self.blocks.iter().map(|block| block.home.stream);
        homes.chain(self.pending.awaited().map(|(stream, _)| stream)).collect()
    }
}

impl<K: StreamName> Pytorch<K> {
    /// A block from the source, after everything that may be released was, if need be.
    fn new_segment<S: MemorySource>(
        &mut self,
        source: &mut S,
        requested: u64,
        size: Size,
        home: Home<K>,
    ) -> Result<Slot, AllocateError<S::Error>> {
        let bytes = size.segment();
        let address = match source.allocate(bytes) {
            Ok(address) => address,
            Err(error) => {
                refusal(error).map_err(AllocateError::Source)?;
                self.release_cached(source);
                self.statistics.num_alloc_retries += 1;
                source.allocate(bytes).map_err(|error| match refusal(error) {
                    Ok(refusal) => {
                        AllocateError::OutOfMemory(self.report(requested, size, home, refusal))
                    }
                    Err(failure) => AllocateError::Source(failure),
                })?
            }
        };
        Ok(self.add_segment(address, bytes, size.pool, home))
    }

    fn report(
        &self,
        requested: u64,
        size: Size,
        home: Home<K>,
        refusal: Refusal,
    ) -> OutOfMemoryReport {
        let allocated = self.statistics.allocated_bytes.all.current;
        let fits = self.free_set(size.pool).iter().filter(|free| free.home == home);
        let elsewhere = || {
            let free = self.small.iter().chain(self.large.iter());
            free.filter(|free| free.home != home)
        };
        let is_of_graphs = |free: &&FreeBlock<K>| self.is_of_graphs(free.home);
        OutOfMemoryReport {
            requested,
            rounded: size.rounded,
            segment_type: Some(size.pool),
            segment: size.segment(),
            refusal,
            allocated,
            pending: self.statistics.active_bytes.all.current - allocated,
            reserved: self.statistics.reserved_bytes.all.current,
            largest_free_block: fits.map(|free| free.bytes).max().unwrap_or(0),
            cached_for_other_streams: elsewhere()
                .filter(|free| !is_of_graphs(free))
                .map(|free| free.bytes)
                .sum(),
            kept_for_graphs: elsewhere().filter(is_of_graphs).map(|free| free.bytes).sum(),
        }
    }
}
