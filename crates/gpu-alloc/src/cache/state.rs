//! What a cache's lock guards: a policy with its source, who looks on, and the streams that it knows.

use std::collections::BTreeMap;

use gpu_runtime::{Error, KeptStream, Stream, StreamId, StreamPoint, is_observed};
use smallvec::SmallVec;

use super::observer::CacheObserver;
use super::{Handed, AllocFailure, Returned};
use crate::policy::{AllocateError, StreamCaches, MemorySource, Policy};

/// A policy with its source, who looks on, and what it does not know: streams, waits, refusals.
#[derive(Debug)]
pub(crate) struct State<P, S, W> {
    pub(crate) policy: P,
    pub(crate) source: S,
    pub(crate) watch: W,
    /// How often the host waited for streams so that memory could be reused or released.
    pub(crate) waits: u64,
    /// How many requests were refused for good.
    pub(crate) refusals: u64,
    /// The streams that the policy knows by name. They stay alive as long as memory belongs to them
    /// or waits for them, since nobody else could tell how far they have come.
    pub(super) streams: BTreeMap<StreamId, KeptStream>,
    /// From whom was taken back what was lent to them, to lend it again with the next request. They
    /// are known.
    pub(super) users: SmallVec<[StreamId; 8]>,
}

impl<P, S, W> State<P, S, W>
where
    P: Policy<Stream = StreamId>,
    P::Owner: Copy,
    S: MemorySource<Error = Error>,
    W: CacheObserver<P, S>,
{
    pub(super) fn new(policy: P, source: S, watch: W) -> Self {
        let (streams, users) = (BTreeMap::new(), SmallVec::new());
        State { policy, source, watch, waits: 0, refusals: 0, streams, users }
    }

    pub(super) fn allocate(
        &mut self,
        bytes: u64,
        home: P::Owner,
        call_site: W::CallSite,
    ) -> Result<Handed, AllocFailure<W::HeapState>> {
        self.poll();
        let outcome = self.policy.allocate(&mut self.source, bytes, home);
        self.watch.called(&mut self.source, Some((home, call_site)));
        match outcome {
            Ok(block) => {
                self.watch.allocated(&block, bytes, home, call_site);
                let waits_for = self.points(self.policy.waits_for(&block)).collect();
                let waits_before_reuse = self.policy.waits_before_reuse(&block);
                Ok(Handed { block, waits_for, waits_before_reuse })
            }
            Err(AllocateError::OutOfMemory(report)) => {
                Err(AllocFailure::OutOfMemory(report, self.watch.refused(&self.policy)))
            }
            Err(AllocateError::Source(error)) => Err(AllocFailure::Source(error)),
            Err(AllocateError::Misplaced(error)) => Err(AllocFailure::Misplaced(error)),
        }
    }

    pub(super) fn completed(&mut self, stream: StreamId, sequence: u64) {
        self.watch.completed(stream, sequence);
        self.policy.completed(stream, sequence);
    }

    pub(super) fn take_back(&mut self, returned: Returned) {
        let (Returned::Block { uses, .. } | Returned::Pool { uses, .. }) = &returned;
        let name = |point: &StreamPoint| (point.stream().id(), point.sequence());
        let names: SmallVec<[_; 4]> = uses.iter().map(name).collect();
        uses.iter().for_each(|point| self.know(point.stream()));
        let block = match returned {
            Returned::Block { block, .. } => block,
            Returned::Pool { pool, .. } => return self.policy.end_pool(pool, &names),
        };
        self.watch.freed(&block, &names, self.policy.waits_before_reuse(&block));
        if let Err(error) = self.policy.free(block, &names) {
            tracing::error!(%error, "memory is lost to its allocator");
        }
    }

    /// The points by those names, of streams that are known.
    pub(super) fn points(
        &self,
        names: impl IntoIterator<Item = (StreamId, u64)>,
    ) -> impl Iterator<Item = StreamPoint> {
        let point = |(id, sequence)| Some(self.streams.get(&id)?.point_at(sequence));
        names.into_iter().filter_map(point)
    }

    /// Notes a stream. To be called when nothing is lent, unless it is known.
    pub(super) fn know(&mut self, stream: &Stream) {
        if self.streams.contains_key(&stream.id()) {
            return;
        }
        if self.streams.len() >= StreamCaches::<StreamId>::MOST_STREAMS {
            self.end_abandoned();
        }
        self.streams.insert(stream.id(), KeptStream::new(stream));
    }

    /// Forgets the streams that nobody has a handle of any more, and that have done their work. To be
    /// called when nothing is lent.
    ///
    /// That nobody waits for them any more orders nothing in the program, but whoever looks for its
    /// races would not know of the end of their work. So all streams are kept while somebody does.
    pub(super) fn end_abandoned(&mut self) {
        if is_observed() {
            return;
        }
        let State { policy, watch, streams, .. } = self;
        streams.retain(|id, stream| {
            let last = stream.sequence();
            let is_over = stream.is_abandoned() && stream.completed() >= last;
            if is_over {
                watch.completed(*id, last);
                policy.completed(*id, last);
                policy.end_stream(*id);
            }
            !is_over
        });
    }

    /// Tells the policy how far the streams have come that freed memory waits for, and who looks on of
    /// those that still use it. Without such memory, it asks nobody.
    fn poll(&mut self) {
        let awaited = self.policy.awaited_for_reuse();
        let awaited: SmallVec<[_; 8]> =
            awaited.filter_map(|(id, _)| Some((**self.streams.get(&id)?).clone())).collect();
        self.ask(awaited);
        for id in self.watch.awaited() {
            if let Some(stream) = self.streams.get(&id) {
                self.watch.completed(id, stream.completed());
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

    /// How much work each known stream has.
    pub(super) fn enqueued(&self) -> BTreeMap<StreamId, u64> {
        self.streams.iter().map(|(id, stream)| (*id, stream.sequence())).collect()
    }

    /// What freed memory waits for, before it can be reused or released.
    pub(super) fn awaited(&self) -> Vec<StreamPoint> {
        let mut last = BTreeMap::new();
        for (id, sequence) in
            self.policy.awaited_for_reuse().chain(self.policy.awaited_for_release())
        {
            let known = last.entry(id).or_insert(sequence);
            *known = sequence.max(*known);
        }
        self.points(last).collect()
    }
}
