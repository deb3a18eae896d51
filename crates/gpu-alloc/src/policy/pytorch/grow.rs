//! Memory from the source, when nothing that is kept will do.

use super::free_set::FreeBlock;
use super::size::Size;
use super::{Pytorch, State};
use crate::policy::report::refusal;
use crate::policy::slab::Slot;
use crate::policy::{
    AllocateError, Home, MemorySource, OutOfMemoryReport, Policy, Refusal, SourceError, StreamName,
};

impl<K: StreamName> Pytorch<K> {
    /// A free block from the source, in no set, after what may be released was, if need be.
    pub(super) fn more_memory<S: MemorySource>(
        &mut self,
        source: &mut S,
        requested: u64,
        size: Size,
        home: Home<K>,
        before_release: impl FnOnce(&mut Self),
    ) -> Result<Slot, AllocateError<S::Error>> {
        self.collect_old_segments(source);
        let mut outcome = self.grow(source, size, home)?;
        if outcome.is_err() && self.release_oversize(source, size, home) {
            outcome = self.grow(source, size, home)?;
        }
        if outcome.is_err() {
            before_release(self);
            self.release_cached(source);
            self.statistics.num_alloc_retries += 1;
            outcome = self.grow(source, size, home)?;
        }
        let out_of_memory = |refusal| self.out_of_memory(requested, size, home, refusal);
        outcome.map_err(|refusal| AllocateError::OutOfMemory(out_of_memory(refusal)))
    }

    /// Asks the source once for what a request needs; its refusal, or its failure as an error.
    fn grow<S: MemorySource>(
        &mut self,
        source: &mut S,
        size: Size,
        home: Home<K>,
    ) -> Result<Result<Slot, Refusal>, AllocateError<S::Error>> {
        let outcome = match self.expandable.is_some().then(|| source.virtual_memory()) {
            Some(Some(memory)) => self.expand(memory, size, home),
            Some(None) => {
                tracing::warn!("there is no virtual memory here: segments do not expand");
                self.expandable = None;
                self.new_segment(source, size, home)
            }
            None => self.new_segment(source, size, home),
        };
        match outcome {
            Ok(slot) => Ok(Ok(slot)),
            Err(error) => refusal(error).map(Err).map_err(AllocateError::Source),
        }
    }

    fn new_segment<S: MemorySource>(
        &mut self,
        source: &mut S,
        size: Size,
        home: Home<K>,
    ) -> Result<Slot, SourceError<S::Error>> {
        let bytes = self.sizes.segment(size);
        let address = source.allocate(bytes)?;
        self.statistics.segment.increase(size.pool, 1);
        self.statistics.reserved_bytes.increase(size.pool, bytes);
        self.statistics.num_device_alloc += 1;
        if bytes >= self.sizes.max_split() {
            self.statistics.oversize_segments.increase(1);
        }
        Ok(self.add_block((address, bytes), size.pool, home, (State::Free, None)))
    }

    fn out_of_memory(
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
            segment: self.sizes.segment(size),
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
