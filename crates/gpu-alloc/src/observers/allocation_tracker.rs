//! Observes an allocator for later questions: who holds what, and the history.

use std::collections::BTreeSet;

use gpu_runtime::StreamId;

use super::heap_state::HeapState;
use super::history::{self, HistoryRecorder};
use super::live_allocations::{CacheAllocations, CallSite, LiveAllocations, NewAllocation};
use crate::cache::CacheObserver;
use crate::policy::{Block, Inspect, Log, Policy, StreamAndPool};

/// The owner of a request's memory, if that is a stream.
pub(crate) trait StreamOwner: Copy {
    fn of_stream(self) -> Option<StreamAndPool<StreamId>>;
}

impl StreamOwner for StreamAndPool<StreamId> {
    fn of_stream(self) -> Option<StreamAndPool<StreamId>> {
        Some(self)
    }
}

impl StreamOwner for () {
    fn of_stream(self) -> Option<StreamAndPool<StreamId>> {
        None
    }
}

/// The holders of a device's memory, or of page-locked memory, and its history if that is on.
#[derive(Debug, Default)]
pub(crate) struct AllocationTracker {
    holders: LiveAllocations,
    recorder: Option<HistoryRecorder>,
}

impl AllocationTracker {
    /// Sets how many events the history keeps, if any.
    pub(crate) fn record<P: Inspect<Stream = StreamId>>(
        &mut self,
        most: Option<usize>,
        policy: &P,
    ) {
        match (most, &mut self.recorder) {
            (None, recorder) => *recorder = None,
            (Some(most), Some(recorder)) => recorder.keep(most),
            (Some(most), none) => *none = Some(HistoryRecorder::new(most, &policy.snapshot())),
        }
    }

    pub(crate) fn recorder(&mut self) -> Option<&mut HistoryRecorder> {
        self.recorder.as_mut()
    }

    pub(crate) fn heap<P: Inspect<Stream = StreamId>>(&self, policy: &P) -> HeapState {
        HeapState {
            segments: policy.snapshot(),
            holders: self.holders.by_address(),
            allocations: self.holders.count(),
        }
    }
}

impl<P, S> CacheObserver<P, Log<S>> for AllocationTracker
where
    P: Policy<Stream = StreamId> + Inspect,
    P::Owner: StreamOwner,
{
    type CallSite = CallSite;
    type HeapState = HeapState;
    type Notes = CacheAllocations;

    fn may_lend(&self) -> bool {
        self.recorder.is_none()
    }

    fn lend(&mut self, part: usize) -> CacheAllocations {
        self.holders.lend(part)
    }

    fn take_back(&mut self, part: usize, notes: CacheAllocations) {
        self.holders.take_back(part, notes);
    }

    #[inline]
    fn note(
        notes: &mut CacheAllocations,
        block: &Block,
        bytes: u64,
        owner: P::Owner,
        call_site: CallSite,
    ) {
        let owner = owner.of_stream();
        notes.hold(NewAllocation { block, requested: bytes, owner, call_site, time: None });
    }

    fn allocated(&mut self, block: &Block, bytes: u64, owner: P::Owner, call_site: CallSite) {
        let owner = owner.of_stream();
        let time = self.recorder.is_some().then(history::now);
        let holder =
            self.holders.hold(NewAllocation { block, requested: bytes, owner, call_site, time });
        if let Some(recorder) = &mut self.recorder {
            recorder.allocated(holder);
        }
    }

    fn freed(&mut self, block: &Block, uses: &[(StreamId, u64)], waits: bool) {
        if let Some(recorder) = &mut self.recorder
            && let Some(holder) = self.holders.of(block)
        {
            recorder.freed(holder, block.bytes(), uses, waits);
        }
    }

    fn awaited(&self) -> BTreeSet<StreamId> {
        self.recorder.as_ref().map(HistoryRecorder::awaited).unwrap_or_default()
    }

    fn completed(&mut self, stream: StreamId, sequence: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.completed(stream, sequence);
        }
    }

    fn called(&mut self, source: &mut Log<S>, request: Option<(P::Owner, CallSite)>) {
        if source.calls().is_empty() {
            return;
        }
        let calls = source.take_calls();
        if let Some(recorder) = &mut self.recorder {
            let request = request.map(|(owner, call_site)| (owner.of_stream(), call_site));
            recorder.called(&calls, request);
        }
    }

    fn refused(&self, policy: &P) -> HeapState {
        self.heap(policy)
    }
}
