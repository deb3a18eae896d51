//! Frees that wait for work on other streams, as whoever watches a policy sees them.

use std::collections::{BTreeMap, BTreeSet};

use gpu_runtime::StreamId;
use smallvec::SmallVec;

/// Freed blocks, by address or another number, that were not seen to be free for good, with what there
/// is to do then.
///
/// A policy says when it is asked to free a block and how far streams have come, but not when it
/// takes the block for free; from the same news this finds the same. Where a policy hands memory
/// out again before that, as one may that orders streams itself, the free was complete by then.
#[derive(Debug)]
pub(super) struct Frees<T> {
    waiting: BTreeMap<u64, Waiting<T>>,
    completed: BTreeMap<StreamId, u64>,
}

#[derive(Debug)]
struct Waiting<T> {
    end: u64,
    uses: SmallVec<[(StreamId, u64); 2]>,
    what: T,
}

impl<T> Default for Frees<T> {
    fn default() -> Self {
        Frees { waiting: BTreeMap::new(), completed: BTreeMap::new() }
    }
}

impl<T> Frees<T> {
    /// Notes a free of `bytes` at `address` and what it must wait for. Returns `what` if that is
    /// nothing.
    pub(super) fn free(
        &mut self,
        (address, bytes): (u64, u64),
        uses: impl Iterator<Item = (StreamId, u64)>,
        what: T,
    ) -> Option<T> {
        let open = |(stream, sequence): &(StreamId, u64)| !self.is_past(*stream, *sequence);
        let uses: SmallVec<_> = uses.filter(open).collect();
        if uses.is_empty() {
            return Some(what);
        }
        self.waiting.insert(address, Waiting { end: address.saturating_add(bytes), uses, what });
        None
    }

    /// Notes how far a stream has come; returns what completes by that.
    pub(super) fn completed(&mut self, stream: StreamId, sequence: u64) -> Vec<T> {
        let known = self.completed.entry(stream).or_insert(0);
        *known = sequence.max(*known);
        let mut waiting = std::mem::take(&mut self.waiting);
        let done = waiting.extract_if(.., |_, free| {
            free.uses.retain(|(stream, sequence)| !self.is_past(*stream, *sequence));
            free.uses.is_empty()
        });
        let done = done.map(|(_, free)| free.what).collect();
        self.waiting = waiting;
        done
    }

    /// Frees that must be complete, as the memory is in other hands.
    pub(super) fn reused(&mut self, address: u64, bytes: u64) -> Vec<T> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let before = self.waiting.range(..address).next_back();
        let first =
            before.filter(|(_, free)| free.end > address).map_or(address, |(first, _)| *first);
        let range = first..address.saturating_add(bytes);
        self.waiting.extract_if(range, |_, _| true).map(|(_, free)| free.what).collect()
    }

    /// The streams whose work is awaited.
    pub(super) fn awaited(&self) -> BTreeSet<StreamId> {
        self.waiting.values().flat_map(|free| &free.uses).map(|(stream, _)| *stream).collect()
    }

    fn is_past(&self, stream: StreamId, sequence: u64) -> bool {
        self.completed.get(&stream).is_some_and(|known| *known >= sequence)
    }
}
