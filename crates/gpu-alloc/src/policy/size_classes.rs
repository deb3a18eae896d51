//! Page-locked host memory: whole blocks in fixed sizes, at most an eighth of each wasted.

use std::collections::{BTreeMap, BTreeSet};

use super::pending::Pending;
use super::report::refusal;
use super::slab::{Slab, Slot};
use super::{
    Address, AllocateError, Block, ForeignBlock, HostMemoryStats, MemorySource, OutOfMemoryReport,
    Policy, Refusal, StreamName,
};

/// The smallest class: what the operating system locks at least.
const PAGE: u64 = 4096;

/// A policy for memory that belongs to no stream: a block is handed out again when all its uses
/// have completed.
///
/// Sizes are rounded up to classes, eight between a power of two and the next, so that a block
/// above a page is larger than the request by less than an eighth of it. Blocks are neither split
/// nor merged.
#[derive(Debug)]
pub struct SizeClasses<K> {
    blocks: Slab<Record>,
    /// The free blocks of each class, the last freed last: it is the likeliest to be in a cache.
    free: BTreeMap<u64, Vec<Slot>>,
    pending: Pending<K>,
    pending_bytes: u64,
    statistics: HostMemoryStats,
}

#[derive(Debug)]
struct Record {
    address: Address,
    bytes: u64,
    in_use: bool,
}

impl<K: StreamName> SizeClasses<K> {
    /// A policy that has no memory yet.
    pub fn new() -> Self {
        SizeClasses {
            blocks: Slab::default(),
            free: BTreeMap::new(),
            pending: Pending::default(),
            pending_bytes: 0,
            statistics: HostMemoryStats::default(),
        }
    }

    /// What it has done and holds.
    pub fn statistics(&self) -> &HostMemoryStats {
        &self.statistics
    }

    /// Sets every peak to the current value.
    pub fn reset_peak_statistics(&mut self) {
        self.statistics.reset_peak();
    }

    fn new_block<S: MemorySource>(
        &mut self,
        source: &mut S,
        requested: u64,
        class: u64,
    ) -> Result<Slot, AllocateError<S::Error>> {
        let address = match source.allocate(class) {
            Ok(address) => address,
            Err(error) => {
                refusal(error).map_err(AllocateError::Source)?;
                self.release_cached(source);
                source.allocate(class).map_err(|error| match refusal(error) {
                    Ok(refusal) => {
                        AllocateError::OutOfMemory(self.report(requested, class, refusal))
                    }
                    Err(failure) => AllocateError::Source(failure),
                })?
            }
        };
        self.statistics.allocations.increase(1);
        self.statistics.allocated_bytes.increase(class);
        self.statistics.num_host_alloc += 1;
        Ok(self.blocks.insert(Record { address, bytes: class, in_use: false }))
    }

    fn report(&self, requested: u64, class: u64, refusal: Refusal) -> OutOfMemoryReport {
        OutOfMemoryReport {
            requested,
            rounded: class,
            segment_type: None,
            segment: class,
            refusal,
            allocated: self.statistics.active_bytes.current - self.pending_bytes,
            pending: self.pending_bytes,
            reserved: self.statistics.allocated_bytes.current,
            // Everything that was kept and free has just been released.
            largest_free_block: 0,
            cached_for_other_streams: 0,
            kept_for_graphs: 0,
        }
    }

    fn complete_free(&mut self, slot: Slot) {
        let bytes = self.blocks[slot].bytes;
        self.statistics.active_requests.decrease(1);
        self.statistics.active_bytes.decrease(bytes);
        self.free.entry(bytes).or_default().push(slot);
    }
}

impl<K: StreamName> Policy for SizeClasses<K> {
    type Stream = K;
    type Home = ();

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        (): (),
    ) -> Result<Block, AllocateError<S::Error>> {
        let class = class_of(bytes);
        let slot = match self.free.get_mut(&class).and_then(Vec::pop) {
            Some(slot) => slot,
            None => self.new_block(source, bytes, class)?,
        };
        self.statistics.active_requests.increase(1);
        self.statistics.active_bytes.increase(class);
        let block = &mut self.blocks[slot];
        block.in_use = true;
        Ok(Block {
            slot,
            address: block.address,
            bytes: block.bytes,
            last_use: 0,
            is_recycled: true,
        })
    }

    fn free(&mut self, block: Block, uses: &[(K, u64)]) -> Result<(), ForeignBlock> {
        let Block { slot, address, bytes, .. } = block;
        if !self.blocks.get(slot).is_some_and(|record| record.in_use && record.address == address) {
            return Err(ForeignBlock(block));
        }
        self.blocks[slot].in_use = false;
        if self.pending.hold(slot, uses.iter().copied()) {
            self.pending_bytes += bytes;
        } else {
            self.complete_free(slot);
        }
        Ok(())
    }

    fn completed(&mut self, stream: K, sequence: u64) {
        for slot in self.pending.complete(stream, sequence) {
            self.pending_bytes -= self.blocks[slot].bytes;
            self.complete_free(slot);
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let mut released = 0;
        for slot in std::mem::take(&mut self.free).into_values().flatten() {
            let Record { address, bytes, .. } = self.blocks.remove(slot);
            source.release(address, bytes);
            self.statistics.allocations.decrease(1);
            self.statistics.allocated_bytes.decrease(bytes);
            self.statistics.num_host_free += 1;
            released += bytes;
        }
        let streams = self.streams();
        self.pending.retain_streams(|stream| streams.contains(&stream));
        released
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

impl<K: StreamName> Default for SizeClasses<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// The least class that holds `bytes`.
fn class_of(bytes: u64) -> u64 {
    if bytes <= PAGE {
        return PAGE;
    }
    let step = 1 << ((bytes - 1).ilog2() - 3);
    bytes.checked_next_multiple_of(step).unwrap_or(u64::MAX - (step - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_are_eight_to_a_power_of_two() {
        assert_eq!(
            [0, 1, 4096, 4097, 4608, 4609].map(class_of),
            [4096, 4096, 4096, 4608, 4608, 5120]
        );
        assert_eq!([8192, 8193].map(class_of), [8192, 9216]);
        assert!(class_of(u64::MAX) > u64::MAX / 16 * 15);
    }

    proptest! {
        #[test]
        fn a_class_wastes_less_than_an_eighth_of_the_request(bytes in PAGE + 1..1 << 50) {
            let class = class_of(bytes);
            prop_assert!(class >= bytes && (class - bytes) * 8 < bytes);
            prop_assert_eq!(class_of(class), class);
        }
    }
}
