//! Memory from the source, when nothing that is kept will do.

use super::Pytorch;
use super::size::RequestSize;
use crate::policy::slab::SlabIndex;
use crate::policy::source::Unable;
use crate::policy::{
    AllocateError, MemorySource, Policy, Refusal, RequestKind, SourceDenial, StreamAndPool,
    StreamName, VirtualMemorySource,
};

impl<K: StreamName> Pytorch<K> {
    /// A free block from the source, in no set, after what may be released was, if need be.
    pub(super) fn more_memory<S: MemorySource>(
        &mut self,
        source: &mut S,
        requested: u64,
        size: RequestSize,
        owner: StreamAndPool<K>,
        before_release: impl FnOnce(&mut Self),
    ) -> Result<SlabIndex, AllocateError<S::Error>> {
        self.collect_old_segments(source);
        if let Some(rejected) = self.rejected(size) {
            self.accounts.rejected();
            let report = self.out_of_memory(requested, size, owner, rejected);
            return Err(AllocateError::OutOfMemory(Box::new(report)));
        }
        // The order of PyTorch's `malloc`: one call, then the cheapest release that may do
        // (`release_available_cached_blocks`), then all of it (`release_cached_blocks`), each followed
        // by one call.
        let mut outcome = self.grow(source, size, owner)?;
        if outcome.is_err() && self.release_oversize(source, size, owner) {
            outcome = self.grow(source, size, owner)?;
        }
        if outcome.is_err() {
            before_release(self);
            self.release_cached(source);
            self.accounts.retried();
            outcome = self.grow(source, size, owner)?;
        }
        outcome.map_err(|refused| {
            AllocateError::OutOfMemory(Box::new(
                self.out_of_memory(requested, size, owner, refused),
            ))
        })
    }

    /// The refusal of what would exceed the memory limit, where the options have it refused at once.
    fn rejected(&self, size: RequestSize) -> Option<SourceDenial> {
        let limit = self.memory_limit.filter(|_| self.sizes.options().throw_on_cudamalloc_oom())?;
        let bytes = self.sizes.segment(size);
        let exceeds = self.accounts.reserved().saturating_add(bytes) > limit;
        exceeds.then(|| SourceDenial::by_limit(bytes, limit))
    }

    /// Asks the source once for what a request needs; its refusal, or its failure as an error.
    fn grow<S: MemorySource>(
        &mut self,
        source: &mut S,
        size: RequestSize,
        owner: StreamAndPool<K>,
    ) -> Result<Result<SlabIndex, SourceDenial>, AllocateError<S::Error>> {
        let outcome = match self.expandable.is_some().then(|| source.virtual_memory()) {
            Some(Some(memory)) => self.expand(memory, size, owner),
            Some(None) => {
                tracing::warn!("there is no virtual memory here: segments do not expand");
                self.expandable = None;
                self.new_segment(source, size, owner)
            }
            None => self.new_segment(source, size, owner),
        };
        match outcome {
            Ok(slot) => Ok(Ok(slot)),
            Err(Unable::Refused(refused)) => Ok(Err(refused)),
            Err(Unable::Failed(error)) => Err(AllocateError::Source(error)),
        }
    }

    fn expand<E>(
        &mut self,
        memory: &mut dyn VirtualMemorySource<Error = E>,
        size: RequestSize,
        owner: StreamAndPool<K>,
    ) -> Result<SlabIndex, Unable<E>> {
        self.check_limit(size)?;
        let expandable = self.expandable.as_mut().expect("it was just seen");
        let size = (size, self.sizes.page(size.pool));
        expandable.expand((&mut self.heap, &mut self.accounts), memory, size, owner)
    }

    /// Refuses what a segment would be too large for under the limit, before anything is mapped, as
    /// PyTorch does: also where less is missing than a segment.
    fn check_limit<E>(&self, size: RequestSize) -> Result<(), Unable<E>> {
        let Some(limit) = self.memory_limit else { return Ok(()) };
        let bytes = self.sizes.segment(size);
        if bytes <= limit.saturating_sub(self.accounts.reserved()) {
            return Ok(());
        }
        let refusal = Refusal::Limit(limit);
        Err(Unable::Refused(SourceDenial { kind: RequestKind::Memory, bytes, refusal, given: 0 }))
    }

    fn new_segment<S: MemorySource>(
        &mut self,
        source: &mut S,
        size: RequestSize,
        owner: StreamAndPool<K>,
    ) -> Result<SlabIndex, Unable<S::Error>> {
        let bytes = self.sizes.segment(size);
        let address =
            source.allocate(bytes).map_err(Unable::to_get(RequestKind::Segment, bytes))?;
        self.accounts.segment_taken(size.pool, bytes);
        Ok(self.heap.add_segment((address, bytes), size.pool, owner))
    }
}
