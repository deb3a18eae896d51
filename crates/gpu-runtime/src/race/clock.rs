//! Vector clocks: of which streams how much comes before something.

use smallvec::SmallVec;

use crate::types::{StreamId, WorkId};

/// For each stream how many pieces of its work come before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct VectorClock {
    /// Sorted by stream; a stream that is not there has 0.
    reached: SmallVec<[(StreamId, u64); 4]>,
}

impl VectorClock {
    /// The number of pieces of a stream's work that come before.
    pub(super) fn reach(&self, stream: StreamId) -> u64 {
        self.position(stream).map_or(0, |at| self.reached[at].1)
    }

    /// Whether this work comes before.
    pub(super) fn covers(&self, work: WorkId) -> bool {
        self.reach(work.stream) >= work.sequence
    }

    pub(super) fn raise(&mut self, work: WorkId) {
        match self.position(work.stream) {
            Ok(at) => self.reached[at].1 = work.sequence.max(self.reached[at].1),
            Err(at) => self.reached.insert(at, (work.stream, work.sequence)),
        }
    }

    /// Adds what comes before something else.
    pub(super) fn join(&mut self, other: &VectorClock) {
        for &(stream, sequence) in &other.reached {
            self.raise(WorkId { stream, sequence });
        }
    }

    /// Takes out what another clock has as well.
    pub(super) fn forget(&mut self, known: &VectorClock) {
        self.reached.retain(|(stream, sequence)| *sequence > known.reach(*stream));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reached.is_empty()
    }

    fn position(&self, stream: StreamId) -> Result<usize, usize> {
        self.reached.binary_search_by_key(&stream, |(stream, _)| *stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(ordinal: u64, sequence: u64) -> WorkId {
        WorkId { stream: StreamId::of(0, ordinal), sequence }
    }

    #[test]
    fn a_clock_covers_what_it_was_raised_to_and_what_it_was_joined_with() {
        let (mut clock, mut other) = (VectorClock::default(), VectorClock::default());
        clock.raise(work(2, 5));
        clock.raise(work(2, 3));
        other.raise(work(1, 7));
        clock.join(&other);
        assert!(clock.covers(work(2, 5)) && clock.covers(work(1, 7)));
        assert!(!clock.covers(work(2, 6)) && !clock.covers(work(3, 1)));
    }

    #[test]
    fn what_another_clock_knows_is_forgotten() {
        let (mut clock, mut known) = (VectorClock::default(), VectorClock::default());
        clock.raise(work(1, 5));
        clock.raise(work(2, 5));
        known.raise(work(1, 5));
        known.raise(work(2, 4));
        clock.forget(&known);
        assert_eq!(clock.reach(StreamId::of(0, 1)), 0);
        assert_eq!(clock.reach(StreamId::of(0, 2)), 5);
    }
}
