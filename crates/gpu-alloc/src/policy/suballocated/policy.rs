//! The inputs of the policy: requests, frees, completions, release.

use std::collections::BTreeSet;
use std::time::Duration;

use super::allocators::key_of;
use super::segment::ProgramSegment;
use super::{ALIGNMENT, Suballocated, Suballocator, pool_of};
use crate::policy::source::Unable;
use crate::policy::{
    Address, AllocateError, Block, ForeignBlock, MemorySource, Policy, Pool, PoolId, RequestKind,
    StreamAndPool, StreamName,
};

impl<A: Suballocator<K>, K: StreamName> Policy for Suballocated<A, K> {
    type Stream = K;
    type Owner = StreamAndPool<K>;

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        requested: u64,
        owner: StreamAndPool<K>,
    ) -> Result<Block, AllocateError<S::Error>> {
        let Some(bytes) = requested.max(1).checked_next_multiple_of(ALIGNMENT) else {
            return Err(self.out_of_memory(requested, u64::MAX, owner, None));
        };
        let mut found = self.find(source, bytes, owner);
        if let (None, Some(Unable::Refused(_))) = &found {
            self.accounts.retried();
            self.release_unused(source);
            found = self.find(source, bytes, owner);
        }
        match found {
            (Some(address), _) => {
                self.place(address, bytes, requested, owner).map_err(AllocateError::Misplaced)
            }
            (None, Some(Unable::Failed(error))) => Err(AllocateError::Source(error)),
            (None, Some(Unable::Refused(refused))) => {
                Err(self.out_of_memory(requested, bytes, owner, Some(refused)))
            }
            (None, None) => Err(self.out_of_memory(requested, bytes, owner, None)),
        }
    }

    fn free(&mut self, block: Block, uses: &[(K, u64)]) -> Result<(), ForeignBlock> {
        let slot = block.slot;
        let ours = self.records.get(slot).filter(|record| {
            let is_there = (record.address, record.bytes) == (block.address.0, block.bytes);
            is_there && !record.is_waiting
        });
        let Some(owner) = ours.map(|record| record.owner) else { return Err(ForeignBlock(block)) };
        self.accounts.block_freed(pool_of(block.bytes), block.bytes);
        let (is_kept, stream) = (self.is_kept(key_of(owner)), owner.stream);
        let record = &mut self.records[slot];
        if is_kept {
            if self.pending.hold_back(slot, stream, uses, &mut record.uses) {
                record.is_waiting = true;
                return Ok(());
            }
        } else {
            record.uses.renew(stream, stream, uses);
        }
        self.complete_free(slot);
        Ok(())
    }

    fn waits_for(&self, block: &Block) -> impl Iterator<Item = (K, u64)> {
        let record = self.records.get(block.slot);
        record.into_iter().flat_map(|record| record.uses.others())
    }

    fn waits_before_reuse(&self, block: &Block) -> bool {
        let record = self.records.get(block.slot);
        record.is_some_and(|record| self.is_kept(key_of(record.owner)))
    }

    fn end_pool(&mut self, pool: PoolId, uses: &[(K, u64)]) {
        let segments = &self.segments;
        self.allocators.end_pool(pool, uses, |key| segments.of(key).next().is_some());
    }

    fn completed(&mut self, stream: K, sequence: u64) {
        for slot in self.pending.complete(stream, sequence) {
            self.complete_free(slot);
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let released = self.release_unused(source);
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
        let segments = self.segments.iter().map(|(_, segment)| segment);
        let unused = segments.filter(|segment| segment.is_unused() && !self.is_kept(segment.key));
        unused
            .flat_map(|segment| self.uses_of(segment))
            .filter(|(stream, sequence)| *sequence > self.pending.completed_on(*stream))
    }

    fn streams(&self) -> BTreeSet<K> {
        let free = self.segments.iter().flat_map(|(_, segment)| self.uses_of(segment));
        let used = self.records.iter().flat_map(|record| {
            let stream = record.owner.stream;
            std::iter::once(stream).chain(record.uses.others().map(|(other, _)| other))
        });
        let waiting = self.pending.awaited().map(|(stream, _)| stream);
        free.map(|(stream, _)| stream).chain(used).chain(waiting).collect()
    }
}

impl<A: Suballocator<K>, K: StreamName> Suballocated<A, K> {
    /// Asks the allocator for a place; also says why it got no segment, if it asked for one in vain.
    fn find<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        owner: StreamAndPool<K>,
    ) -> (Option<Address>, Option<Unable<S::Error>>) {
        let (key, stream) = (key_of(owner), owner.stream);
        let Self { allocators, segments, accounts, .. } = self;
        let mut unable = None;
        let mut new_segment = |wanted: u64| match source.allocate(wanted) {
            Ok(address) => {
                segments.add(address, wanted, key, stream);
                accounts.segment_taken(Pool::Large, wanted);
                Some(address)
            }
            Err(error) => {
                unable = Some(Unable::to_get(RequestKind::Segment, wanted)(error));
                None
            }
        };
        let found = allocators.get_or_make(key).allocate(bytes, stream, &mut new_segment);
        (found, unable)
    }

    /// The last uses of what is free of a segment.
    pub(super) fn uses_of<'s>(
        &'s self,
        segment: &'s ProgramSegment<K>,
    ) -> impl Iterator<Item = (K, u64)> {
        segment.uses().chain(self.allocators.uses_by_graphs(segment.key))
    }
}
