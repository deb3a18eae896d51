//! The streams that an allocator's policy knows by name.

use std::collections::{BTreeMap, BTreeSet};

use gpu_runtime::{Stream, StreamId, StreamKeepAlive, StreamPoint};
use smallvec::SmallVec;

/// The streams that memory belongs to or waits for, by name.
///
/// They stay alive as long as they are here, since nobody else could tell how far they have come.
#[derive(Debug, Default)]
pub(crate) struct KnownStreams {
    streams: BTreeMap<StreamId, StreamKeepAlive>,
    /// Whose stream caches were recalled, to lend them again with the next request.
    recalled: SmallVec<[StreamId; 8]>,
}

impl KnownStreams {
    pub(super) fn contains(&self, stream: StreamId) -> bool {
        self.streams.contains_key(&stream)
    }

    pub(super) fn len(&self) -> usize {
        self.streams.len()
    }

    pub(super) fn insert(&mut self, stream: &Stream) {
        self.streams.insert(stream.id(), StreamKeepAlive::new(stream));
    }

    /// The stream of that name, if it is known.
    pub(super) fn get(&self, stream: StreamId) -> Option<&Stream> {
        self.streams.get(&stream).map(|stream| &**stream)
    }

    /// Forgets the streams for which `is_over` is true.
    pub(super) fn forget(&mut self, mut is_over: impl FnMut(StreamId, &StreamKeepAlive) -> bool) {
        self.streams.retain(|id, stream| !is_over(*id, stream));
    }

    /// Forgets all streams but those, and whose stream caches were recalled.
    pub(super) fn keep_only(&mut self, needed: &BTreeSet<StreamId>) {
        self.streams.retain(|stream, _| needed.contains(stream));
        self.recalled.clear();
    }

    /// The points of work by stream and number, on those streams that are known.
    pub(super) fn points(
        &self,
        work: impl IntoIterator<Item = (StreamId, u64)>,
    ) -> impl Iterator<Item = StreamPoint> {
        let point = |(id, sequence)| Some(self.streams.get(&id)?.point_at(sequence));
        work.into_iter().filter_map(point)
    }

    /// The amount of work that has been enqueued on each stream.
    pub(super) fn enqueued(&self) -> BTreeMap<StreamId, u64> {
        self.streams.iter().map(|(id, stream)| (*id, stream.sequence())).collect()
    }

    /// Notes the streams whose stream caches were recalled together; they are the latest.
    pub(super) fn note_recalled(&mut self, streams: SmallVec<[StreamId; 8]>) {
        self.recalled.retain(|stream| !streams.contains(stream));
        self.recalled.extend(streams);
    }

    /// Whose stream caches were recalled since this was last asked, the latest at the end.
    pub(super) fn take_recalled(&mut self) -> SmallVec<[StreamId; 8]> {
        std::mem::take(&mut self.recalled)
    }
}
