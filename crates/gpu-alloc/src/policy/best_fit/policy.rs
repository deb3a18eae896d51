//! The inputs of the policy: requests, frees, completions, release.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{BestFit, size};
use crate::policy::{AllocateError, Block, ForeignBlock, MemorySource, Policy, StreamName};

impl<K: StreamName> Policy for BestFit<K> {
    type Stream = K;
    type Owner = ();

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        (): (),
    ) -> Result<Block, AllocateError<S::Error>> {
        let size = size::of(bytes);
        let slot = match self.heap.take_best_fit(size) {
            Some(slot) => slot,
            None => self.new_segment(source, bytes, size)?,
        };
        Ok(self.hand_out(slot, bytes, size))
    }

    fn free(&mut self, block: Block, uses: &[(K, u64)]) -> Result<(), ForeignBlock> {
        if !self.heap.is_held(&block) {
            return Err(ForeignBlock(block));
        }
        let Block { slot, bytes, .. } = block;
        if self.pending.hold(slot, uses.iter().copied()) {
            self.heap.hold_back(slot);
            self.pending_bytes += bytes;
        } else {
            self.complete_free(slot);
        }
        Ok(())
    }

    fn completed(&mut self, stream: K, sequence: u64) {
        for slot in self.pending.complete(stream, sequence) {
            self.pending_bytes -= self.heap[slot].bytes();
            self.complete_free(slot);
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let released = self.release_idle(source);
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
        std::iter::empty()
    }

    fn streams(&self) -> BTreeSet<K> {
        self.pending.awaited().map(|(stream, _)| stream).collect()
    }
}
