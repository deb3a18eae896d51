//! What is written down of an allocator's memory: who holds what, and the history.

use std::collections::BTreeSet;

use gpu_runtime::StreamId;

use super::heap_state::Moment;
use super::history::{self, Recorder};
use super::live_allocations::{Handout, Holders, Origin, PartHolders};
use crate::cache::Watch;
use crate::policy::{Block, Home, Inspect, Log, Policy};

/// What a request's memory belongs to, if that is a stream.
pub(crate) trait StreamHome: Copy {
    fn of_stream(self) -> Option<Home<StreamId>>;
}

impl StreamHome for Home<StreamId> {
    fn of_stream(self) -> Option<Home<StreamId>> {
        Some(self)
    }
}

impl StreamHome for () {
    fn of_stream(self) -> Option<Home<StreamId>> {
        None
    }
}

/// The holders of a device's memory, or of page-locked memory, and its history if that is on.
#[derive(Debug, Default)]
pub(crate) struct Books {
    holders: Holders,
    recorder: Option<Recorder>,
}

impl Books {
    /// Sets how many events the history keeps, if any.
    pub(crate) fn record<P: Inspect<Stream = StreamId>>(
        &mut self,
        most: Option<usize>,
        policy: &P,
    ) {
        match (most, &mut self.recorder) {
            (None, recorder) => *recorder = None,
            (Some(most), Some(recorder)) => recorder.keep(most),
            (Some(most), none) => *none = Some(Recorder::new(most, &policy.snapshot())),
        }
    }

    pub(crate) fn recorder(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_mut()
    }

    pub(crate) fn moment<P: Inspect<Stream = StreamId>>(&self, policy: &P) -> Moment {
        Moment {
            segments: policy.snapshot(),
            holders: self.holders.by_address(),
            allocations: self.holders.count(),
        }
    }
}

impl<P, S> Watch<P, Log<S>> for Books
where
    P: Policy<Stream = StreamId> + Inspect,
    P::Home: StreamHome,
{
    type Origin = Origin;
    type Moment = Moment;
    type Notes = PartHolders;

    fn may_lend(&self) -> bool {
        self.recorder.is_none()
    }

    fn lend(&mut self, part: usize) -> PartHolders {
        self.holders.lend(part)
    }

    fn take_back(&mut self, part: usize, notes: PartHolders) {
        self.holders.take_back(part, notes);
    }

    #[inline]
    fn note(notes: &mut PartHolders, block: &Block, bytes: u64, home: P::Home, origin: Origin) {
        let home = home.of_stream();
        notes.hold(Handout { block, requested: bytes, home, origin, time: None });
    }

    fn allocated(&mut self, block: &Block, bytes: u64, home: P::Home, origin: Origin) {
        let home = home.of_stream();
        let time = self.recorder.is_some().then(history::now);
        let holder = self.holders.hold(Handout { block, requested: bytes, home, origin, time });
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
        self.recorder.as_ref().map(Recorder::awaited).unwrap_or_default()
    }

    fn completed(&mut self, stream: StreamId, sequence: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.completed(stream, sequence);
        }
    }

    fn called(&mut self, source: &mut Log<S>, request: Option<(P::Home, Origin)>) {
        if source.calls().is_empty() {
            return;
        }
        let calls = source.take_calls();
        if let Some(recorder) = &mut self.recorder {
            let request = request.map(|(home, origin)| (home.of_stream(), origin));
            recorder.called(&calls, request);
        }
    }

    fn refused(&self, policy: &P) -> Moment {
        self.moment(policy)
    }
}
