//! The state that an allocator's lock guards: a policy that lends stream caches, and what is beside it.

use gpu_runtime::{Error, Stream, StreamId, StreamPoint, is_observed};
use smallvec::SmallVec;
use std::collections::BTreeMap;

use super::known_streams::KnownStreams;
use super::observer::CacheObserver;
use super::return_queue::Returned;
use crate::policy::{
    AllocateError, Block, Certificate, Lending, MemorySource, Misplaced, OutOfMemoryReport, Policy,
    StreamCaches,
};

/// A block for a request.
#[derive(Debug)]
pub(crate) struct ServedBlock {
    pub(crate) block: Block,
    /// The work of other streams that work on its stream must come after.
    pub(crate) waits_for: SmallVec<[StreamPoint; 2]>,
    /// Whether it is handed out again only after its uses.
    pub(crate) waits_before_reuse: bool,
}

/// Why a request was not served.
#[derive(Debug)]
pub(crate) enum AllocFailure<H> {
    /// Out of memory, with the policy's report and the state of the heap.
    OutOfMemory(Box<OutOfMemoryReport>, H),
    /// The source failed in another way.
    Source(Error),
    /// A program's own allocator was wrong.
    Misplaced(Misplaced),
}

impl<H> AllocFailure<H> {
    /// The evidence that there is not enough memory, where that is why.
    pub(super) fn certificate(&self) -> Option<&Certificate> {
        match self {
            AllocFailure::OutOfMemory(report, _) => Some(&report.certificate),
            AllocFailure::Source(_) | AllocFailure::Misplaced(_) => None,
        }
    }
}

/// The state that the lock guards.
#[derive(Debug)]
pub(super) struct LockedState<P, S, O> {
    /// The policy, which can be called when no stream cache is lent.
    pub(super) lending: Lending<P>,
    pub(super) beside: BesidePolicy<S, O>,
}

/// The state beside the policy under the lock, whether or not stream caches are lent.
#[derive(Debug)]
pub(crate) struct BesidePolicy<S, O> {
    pub(crate) source: S,
    pub(crate) observer: O,
    /// The number of times that the host waited for streams so that memory could be reused or released.
    pub(crate) waits: u64,
    /// The number of requests that were refused for good.
    pub(crate) refusals: u64,
    pub(super) streams: KnownStreams,
}

/// The policy with all its stream caches, and what is beside it.
#[derive(Debug)]
pub(crate) struct WholeState<'s, P, S, O> {
    pub(crate) policy: &'s mut P,
    pub(crate) source: &'s mut S,
    pub(crate) observer: &'s mut O,
    pub(crate) waits: &'s mut u64,
    pub(crate) refusals: &'s mut u64,
    pub(super) streams: &'s mut KnownStreams,
}

impl<P, S, O> LockedState<P, S, O>
where
    P: Policy<Stream = StreamId>,
    O: CacheObserver<P, S>,
{
    pub(super) fn new(policy: P, source: S, observer: O) -> Self {
        let streams = KnownStreams::default();
        let beside = BesidePolicy { source, observer, waits: 0, refusals: 0, streams };
        LockedState { lending: Lending::new(policy), beside }
    }

    /// Takes back all stream caches, which were lent to `caches`.
    pub(super) fn recall(
        &mut self,
        caches: &StreamCaches<StreamId, O::Notes>,
    ) -> WholeState<'_, P, S, O> {
        let BesidePolicy { source, observer, waits, refusals, streams } = &mut self.beside;
        let mut recalled = SmallVec::new();
        let policy = caches.recall(&mut self.lending, |cache| {
            recalled.extend(cache.stream);
            observer.take_back(cache.number, cache.notes);
        });
        streams.note_recalled(recalled);
        WholeState { policy, source, observer, waits, refusals, streams }
    }

    /// Lends a stream its stream cache, for as long as nobody needs the whole policy; false if it
    /// has that already, or must not have it.
    pub(super) fn lend(
        &mut self,
        caches: &StreamCaches<StreamId, O::Notes>,
        stream: StreamId,
    ) -> bool {
        let BesidePolicy { observer, streams, .. } = &mut self.beside;
        observer.may_lend()
            && streams.contains(stream)
            && caches.lend(&mut self.lending, stream, |part| observer.lend(part))
    }
}

impl<P, S, O> WholeState<'_, P, S, O>
where
    P: Policy<Stream = StreamId>,
    P::Owner: Copy,
    S: MemorySource<Error = Error>,
    O: CacheObserver<P, S>,
{
    pub(super) fn allocate(
        &mut self,
        bytes: u64,
        owner: P::Owner,
        call_site: O::CallSite,
    ) -> Result<ServedBlock, AllocFailure<O::HeapState>> {
        self.poll();
        let outcome = self.policy.allocate(self.source, bytes, owner);
        self.observer.called(self.source, Some((owner, call_site)));
        match outcome {
            Ok(block) => {
                self.observer.allocated(&block, bytes, owner, call_site);
                let waits_for = self.streams.points(self.policy.waits_for(&block)).collect();
                let waits_before_reuse = self.policy.waits_before_reuse(&block);
                Ok(ServedBlock { block, waits_for, waits_before_reuse })
            }
            Err(AllocateError::OutOfMemory(report)) => {
                Err(AllocFailure::OutOfMemory(report, self.observer.refused(self.policy)))
            }
            Err(AllocateError::Source(error)) => Err(AllocFailure::Source(error)),
            Err(AllocateError::Misplaced(error)) => Err(AllocFailure::Misplaced(error)),
        }
    }

    pub(super) fn completed(&mut self, stream: StreamId, sequence: u64) {
        self.observer.completed(stream, sequence);
        self.policy.completed(stream, sequence);
    }

    pub(super) fn take_back(&mut self, returned: Returned) {
        let (Returned::Block { uses, .. } | Returned::Pool { uses, .. }) = &returned;
        // Policies know streams by name only; the streams themselves are kept to ask how far they are.
        let name = |point: &StreamPoint| (point.stream().id(), point.sequence());
        let names: SmallVec<[_; 4]> = uses.iter().map(name).collect();
        uses.iter().for_each(|point| self.know(point.stream()));
        let block = match returned {
            Returned::Block { block, .. } => block,
            Returned::Pool { pool, .. } => return self.policy.end_pool(pool, &names),
        };
        self.observer.freed(&block, &names, self.policy.waits_before_reuse(&block));
        if let Err(error) = self.policy.free(block, &names) {
            tracing::error!(%error, "memory is lost to its allocator");
        }
    }

    /// Notes a stream, unless it is known. Where there are many, those that are gone are forgotten.
    pub(super) fn know(&mut self, stream: &Stream) {
        if self.streams.contains(stream.id()) {
            return;
        }
        if self.streams.len() >= StreamCaches::<StreamId>::MAX_STREAMS {
            self.end_abandoned();
        }
        self.streams.insert(stream);
    }

    /// Forgets the streams that nobody has a handle of any more, and that have done their work.
    ///
    /// That nobody waits for them any more orders nothing in the program, but whoever looks for its
    /// races would not know of the end of their work. So all streams are kept while somebody does.
    pub(super) fn end_abandoned(&mut self) {
        if is_observed() {
            return;
        }
        let WholeState { policy, observer, streams, .. } = self;
        streams.forget(|id, stream| {
            let last = stream.sequence();
            let is_over = stream.is_abandoned() && stream.completed() >= last;
            if is_over {
                observer.completed(id, last);
                policy.completed(id, last);
                policy.end_stream(id);
            }
            is_over
        });
    }

    /// Tells the policy how far the streams have come that freed memory waits for, and the observer
    /// of those that still use it. Without such memory, it asks nobody.
    fn poll(&mut self) {
        let awaited = self.policy.awaited_for_reuse();
        let awaited: SmallVec<[_; 8]> =
            awaited.filter_map(|(id, _)| self.streams.get(id).cloned()).collect();
        self.ask(awaited);
        for id in self.observer.awaited() {
            if let Some(stream) = self.streams.get(id) {
                self.observer.completed(id, stream.completed());
            }
        }
    }

    /// Tells the policy how far streams have come.
    pub(super) fn ask(&mut self, streams: impl IntoIterator<Item = Stream>) {
        for stream in streams {
            let sequence = stream.completed();
            self.completed(stream.id(), sequence);
        }
    }

    /// The work that freed memory waits for, before it can be reused or released.
    pub(super) fn awaited(&self) -> Vec<StreamPoint> {
        let mut last = BTreeMap::new();
        for (id, sequence) in
            self.policy.awaited_for_reuse().chain(self.policy.awaited_for_release())
        {
            let known = last.entry(id).or_insert(sequence);
            *known = sequence.max(*known);
        }
        self.streams.points(last).collect()
    }
}
