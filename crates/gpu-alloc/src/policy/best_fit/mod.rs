//! Page-locked host memory: segments, split by best fit and merged again.

mod certificate;
mod policy;
mod release;
mod size;
mod snapshot;

use std::collections::BTreeSet;
use std::time::Duration;

use super::pending::PendingFrees;
use super::slab::{Slab, SlabIndex};
use super::source::Unable;
use super::{
    Address, AllocateError, Block, HostMemoryStats, MemorySource, RequestKind, SourceDenial,
    StreamName,
};

/// A policy for memory that belongs to no stream: a block is handed out again when all its uses
/// have completed.
///
/// A request gets the smallest free block that holds it, at the lowest address among equals, and
/// leaves the rest of that block free; blocks that become free merge with free neighbours. Requests
/// are rounded up to 512 bytes.
///
/// Where no block fits, a segment is taken from the source: for several such requests, as long as
/// what is free stays at an eighth of what is in use, and at 64 MiB. Of a request's own segment, too,
/// an eighth is wasted at most: its size is rounded up to one of eight between a power of two and the
/// next, so that requests whose sizes change a little do not leave a trail of segments. So where
/// nothing is freed, no more is taken than nine eighths of what is handed out, and 1 MiB besides, in
/// which small requests begin. A source that refuses is asked for the request alone, also after it got
/// back all unused segments.
///
/// Unused segments are kept, as it may take long to give them back: all of them, or no more than
/// [`set_keep`](Self::set_keep) says. [`tick`](super::Policy::tick) returns those that nobody has
/// used for some time.
#[derive(Debug)]
pub struct BestFit<K> {
    blocks: Slab<SegmentBlock>,
    free: BTreeSet<BySize>,
    pending: PendingFrees<K>,
    pending_bytes: u64,
    keep: u64,
    statistics: HostMemoryStats,
}

/// A part of a segment; the parts are a list, by address.
#[derive(Debug)]
struct SegmentBlock {
    address: Address,
    bytes: u64,
    /// What was asked for, where it is not free.
    requested: u64,
    state: SegmentBlockState,
    /// Whether any part of it was handed out before.
    was_used: bool,
    /// When it was first seen to be an unused segment, since it was last in use.
    idle_since: Option<Duration>,
    previous: Option<SlabIndex>,
    next: Option<SlabIndex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentBlockState {
    Free,
    Allocated,
    /// Given back by the program, and perhaps still used by a stream.
    PendingFrees,
}

/// A free block as the search sees it: by size, then address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BySize {
    bytes: u64,
    address: Address,
    slot: SlabIndex,
}

impl<K: StreamName> BestFit<K> {
    /// A policy that has no memory yet, and keeps as much as it is given.
    pub fn new() -> Self {
        BestFit {
            blocks: Slab::default(),
            free: BTreeSet::new(),
            pending: PendingFrees::default(),
            pending_bytes: 0,
            keep: u64::MAX,
            statistics: HostMemoryStats::default(),
        }
    }

    /// Its statistics. The times of the source's calls are left at 0: the policy has no
    /// clock.
    pub fn statistics(&self) -> &HostMemoryStats {
        &self.statistics
    }

    /// Sets every peak to the current value.
    pub fn reset_peak_statistics(&mut self) {
        self.statistics.reset_peak();
    }

    /// Sets all accumulated values and counts to zero.
    pub fn reset_accumulated_statistics(&mut self) {
        self.statistics.reset_accumulated();
    }

    fn best_fit(&self, size: u64) -> Option<BySize> {
        let least = BySize { bytes: size, address: Address(0), slot: SlabIndex::FIRST };
        self.free.range(least..).next().copied()
    }

    /// Takes a segment from the source for a request; it is free, but not among the free blocks.
    fn new_segment<S: MemorySource>(
        &mut self,
        source: &mut S,
        requested: u64,
        size: u64,
    ) -> Result<SlabIndex, AllocateError<S::Error>> {
        let HostMemoryStats { active_bytes, allocated_bytes, .. } = self.statistics;
        let active = active_bytes.current;
        let generous = size::segment(size, active, allocated_bytes.current - active);
        let least = size::in_pages(size);
        let held = active - self.pending_bytes;
        if held.saturating_add(size) > allocated_bytes.current
            && let Some(refused) = SourceDenial::beyond_all(source, held, size)
        {
            let report = self.out_of_memory(requested, size, refused);
            return Err(AllocateError::OutOfMemory(Box::new(report)));
        }
        self.release_beyond_keep(source);
        let mut outcome = Self::ask(source, generous);
        if matches!(outcome, Err(Unable::Refused(_))) && least < generous {
            outcome = Self::ask(source, least);
        }
        if matches!(outcome, Err(Unable::Refused(_))) && self.release_idle(source) > 0 {
            outcome = Self::ask(source, least);
        }
        let (address, bytes) = outcome.map_err(|unable| match unable {
            Unable::Failed(failure) => AllocateError::Source(failure),
            Unable::Refused(refused) => {
                AllocateError::OutOfMemory(Box::new(self.out_of_memory(requested, size, refused)))
            }
        })?;
        self.statistics.allocations.increase(1);
        self.statistics.allocated_bytes.increase(bytes);
        self.statistics.num_host_alloc += 1;
        Ok(self.blocks.insert(SegmentBlock {
            address,
            bytes,
            requested: 0,
            state: SegmentBlockState::Free,
            was_used: false,
            idle_since: None,
            previous: None,
            next: None,
        }))
    }

    /// Asks the source for a segment; returns it with its size.
    fn ask<S: MemorySource>(
        source: &mut S,
        bytes: u64,
    ) -> Result<(Address, u64), Unable<S::Error>> {
        let segment =
            source.allocate(bytes).map_err(Unable::to_get(RequestKind::Segment, bytes))?;
        Ok((segment, bytes))
    }

    /// Hands out the first `size` bytes of a free block that is not among the free blocks any more.
    fn hand_out(&mut self, slot: SlabIndex, requested: u64, size: u64) -> Block {
        let rest = self.blocks[slot].bytes - size;
        if rest > 0 {
            let SegmentBlock { address, was_used, next, .. } = self.blocks[slot];
            let rest = self.blocks.insert(SegmentBlock {
                address: Address(address.0 + size),
                bytes: rest,
                requested: 0,
                state: SegmentBlockState::Free,
                was_used,
                idle_since: None,
                previous: Some(slot),
                next,
            });
            if let Some(next) = next {
                self.blocks[next].previous = Some(rest);
            }
            (self.blocks[slot].bytes, self.blocks[slot].next) = (size, Some(rest));
            self.free.insert(self.free_block(rest));
        }
        self.statistics.active_requests.increase(1);
        self.statistics.active_bytes.increase(size);
        let record = &mut self.blocks[slot];
        record.requested = requested;
        let (address, is_recycled) = (record.address, record.was_used);
        (record.state, record.was_used, record.idle_since) =
            (SegmentBlockState::Allocated, true, None);
        Block { slot, address, bytes: size, last_use: 0, is_recycled, is_shared: false }
    }

    /// Puts a block that nobody uses among the free ones, merged with those beside it.
    fn complete_free(&mut self, slot: SlabIndex) {
        self.statistics.active_requests.decrease(1);
        self.statistics.active_bytes.decrease(self.blocks[slot].bytes);
        self.blocks[slot].state = SegmentBlockState::Free;
        let SegmentBlock { previous, next, .. } = self.blocks[slot];
        if let Some(next) = self.if_free(next) {
            self.free.remove(&self.free_block(next));
            self.absorb_next(slot, next);
        }
        let mut merged = slot;
        if let Some(previous) = self.if_free(previous) {
            self.free.remove(&self.free_block(previous));
            self.absorb_next(previous, slot);
            merged = previous;
        }
        self.free.insert(self.free_block(merged));
    }

    fn if_free(&self, slot: Option<SlabIndex>) -> Option<SlabIndex> {
        slot.filter(|slot| self.blocks[*slot].state == SegmentBlockState::Free)
    }

    fn absorb_next(&mut self, slot: SlabIndex, next: SlabIndex) {
        let SegmentBlock { bytes, was_used, next, .. } = self.blocks.remove(next);
        let record = &mut self.blocks[slot];
        record.bytes += bytes;
        record.was_used |= was_used;
        record.next = next;
        if let Some(next) = next {
            self.blocks[next].previous = Some(slot);
        }
    }

    fn free_block(&self, slot: SlabIndex) -> BySize {
        let SegmentBlock { address, bytes, .. } = self.blocks[slot];
        BySize { bytes, address, slot }
    }
}

impl<K: StreamName> Default for BestFit<K> {
    fn default() -> Self {
        Self::new()
    }
}
