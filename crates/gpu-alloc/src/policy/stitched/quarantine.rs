//! Memory that other streams may still use when it is freed is kept back for a while.
//!
//! Whoever got it at once would wait for those uses, which are the latest work of their streams: a
//! loop that copies ahead on a stream of its own would copy into the memory that is being computed
//! with. So such memory queues up, first in, first out, as long as there is enough other memory.
//! What leaves the queue, and when, follows from the order of the calls alone.

use std::collections::VecDeque;

use super::pages::PAGE;
use crate::policy::slab::SlabIndex;

/// The bytes that may be kept back however little is held: some batches, for most programs.
const MIN_BOUND: u64 = 64 << 20;
/// This part of the most that was ever held may be kept back, if it is more and there is memory
/// enough.
const SHARE: u64 = 128;

/// The spans that are kept back.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    /// The spans with their bytes, in the order in which they were freed.
    spans: VecDeque<(SlabIndex, u64)>,
    bytes: u64,
    /// Whether the source has refused memory since some was last given back.
    is_scarce: bool,
}

impl Quarantine {
    /// The pages that the spans would fill.
    pub(super) fn pages(&self) -> u64 {
        self.bytes.div_ceil(PAGE)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The spans, in the order in which they were freed.
    pub(super) fn spans(&self) -> impl Iterator<Item = SlabIndex> {
        self.spans.iter().map(|(span, _)| *span)
    }

    pub(super) fn push(&mut self, span: SlabIndex, bytes: u64) {
        self.bytes += bytes;
        self.spans.push_back((span, bytes));
    }

    /// Takes out the span that was freed first.
    pub(super) fn pop_oldest(&mut self) -> Option<SlabIndex> {
        self.take(0)
    }

    /// Takes out the span that was freed first where more is kept back than may be, by a policy of
    /// which so many bytes were held at most.
    pub(super) fn pop_surplus(&mut self, most_held: u64) -> Option<SlabIndex> {
        if self.bytes > self.bound(most_held) { self.pop_oldest() } else { None }
    }

    /// Takes out the first freed of the spans that fit: its uses have had the longest time to end, so
    /// that its new owner waits the least.
    pub(super) fn take_first(&mut self, fits: impl Fn(SlabIndex) -> bool) -> Option<SlabIndex> {
        let index = self.spans.iter().position(|(span, _)| fits(*span))?;
        self.take(index)
    }

    fn take(&mut self, index: usize) -> Option<SlabIndex> {
        let (span, bytes) = self.spans.remove(index)?;
        self.bytes -= bytes;
        Some(span)
    }

    /// Learns that the source has no more memory: from now on no more than the least is kept back.
    pub(super) fn note_scarcity(&mut self) {
        self.is_scarce = true;
    }

    /// Learns that memory was given back to the source.
    pub(super) fn end_scarcity(&mut self) {
        self.is_scarce = false;
    }

    /// The bytes that may be kept back by whoever held so many at most.
    fn bound(&self, most_held: u64) -> u64 {
        // What is kept back has as much more memory made for it. Where the source has refused, that
        // would come from other requests.
        if self.is_scarce { MIN_BOUND } else { MIN_BOUND.max(most_held / SHARE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_leave_in_the_order_of_their_frees_and_more_may_stay_where_more_was_held() {
        let spans = [1, 2, 3].map(|index| SlabIndex::at(0, index));
        let mut quarantine = Quarantine::default();
        spans.iter().for_each(|span| quarantine.push(*span, MIN_BOUND / 2));
        assert_eq!(quarantine.pop_surplus(2 * MIN_BOUND * SHARE), None);
        quarantine.note_scarcity();
        assert_eq!(quarantine.pop_surplus(2 * MIN_BOUND * SHARE), Some(spans[0]));
        assert_eq!(quarantine.pop_surplus(2 * MIN_BOUND * SHARE), None);
        assert_eq!(quarantine.take_first(|span| span == spans[2]), Some(spans[2]));
        assert_eq!(quarantine.pages(), MIN_BOUND / 2 / PAGE);
        assert_eq!(quarantine.pop_oldest(), Some(spans[1]));
        assert!(quarantine.is_empty());
    }
}
