//! Page-locked host memory: segments, split by best fit and merged again.

mod certificate;
mod heap;
mod policy;
mod release;
mod size;
mod snapshot;

use self::heap::HostHeap;
use super::pending::PendingFrees;
use super::slab::SlabIndex;
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
    heap: HostHeap,
    pending: PendingFrees<K>,
    pending_bytes: u64,
    /// The bytes of unused segments that may be kept.
    keep: u64,
    statistics: HostMemoryStats,
}

impl<K: StreamName> BestFit<K> {
    /// A policy that has no memory yet, and keeps as much as it is given.
    pub fn new() -> Self {
        BestFit {
            heap: HostHeap::default(),
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
        // What waits for copies may still come back, so only what is held counts against all that
        // the source could ever give: asking in vain would cost the cache.
        let held = active - self.pending_bytes;
        if held.saturating_add(size) > allocated_bytes.current
            && let Some(refused) = SourceDenial::beyond_all(source, held, size)
        {
            let report = self.out_of_memory(requested, size, refused);
            return Err(AllocateError::OutOfMemory(Box::new(report)));
        }
        self.release_beyond_keep(source);
        // To ask ahead must not fail a request that would fit by itself: the second call is for no
        // more than it needs. To give back what is unused comes last, as it takes long to page-lock
        // memory again.
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
        Ok(self.heap.add_segment((address, bytes)))
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

    fn hand_out(&mut self, slot: SlabIndex, requested: u64, size: u64) -> Block {
        self.statistics.active_requests.increase(1);
        self.statistics.active_bytes.increase(size);
        self.heap.hand_out(slot, requested, size)
    }

    fn complete_free(&mut self, slot: SlabIndex) {
        self.statistics.active_requests.decrease(1);
        self.statistics.active_bytes.decrease(self.heap[slot].bytes());
        self.heap.free(slot);
    }
}

impl<K: StreamName> Default for BestFit<K> {
    fn default() -> Self {
        Self::new()
    }
}
