//! The freed blocks that wait for streams, and how far each stream is known to have come.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::StreamName;
use super::slab::SlabIndex;
use super::uses::LastUses;

/// Freed blocks whose last uses have not completed, as far as is known.
#[derive(Debug)]
pub(super) struct PendingFrees<K> {
    /// Ordered so that the uses which a completion ends are one range.
    uses: BTreeSet<(K, u64, SlabIndex)>,
    /// The number of streams that each waiting block still waits for.
    streams_of: BTreeMap<SlabIndex, usize>,
    completed: BTreeMap<K, u64>,
}

impl<K: StreamName> PendingFrees<K> {
    /// Makes a freed block wait for those of its uses that have not completed; false if there is
    /// none.
    pub(super) fn hold(
        &mut self,
        slot: SlabIndex,
        uses: impl IntoIterator<Item = (K, u64)>,
    ) -> bool {
        let mut last_uses = BTreeMap::new();
        for (stream, sequence) in uses {
            if sequence > self.completed_on(stream) {
                let last = last_uses.entry(stream).or_insert(sequence);
                *last = sequence.max(*last);
            }
        }
        if last_uses.is_empty() {
            return false;
        }
        self.streams_of.insert(slot, last_uses.len());
        self.uses.extend(last_uses.into_iter().map(|(stream, sequence)| (stream, sequence, slot)));
        true
    }

    /// Makes freed memory of `own`, which must not be handed out before its last `uses`, wait for
    /// those on other streams; false if it need not. The one on its own stream is all that is noted.
    pub(super) fn hold_back(
        &mut self,
        slot: SlabIndex,
        own: K,
        uses: &[(K, u64)],
        noted: &mut LastUses<K>,
    ) -> bool {
        let (on_own, on_others): (SmallVec<[_; 4]>, SmallVec<[_; 4]>) =
            uses.iter().copied().partition(|(stream, _)| *stream == own);
        noted.renew(own, own, &on_own);
        self.hold(slot, on_others)
    }

    /// Notes how far `stream` has come; returns the blocks that now wait for nothing, oldest use
    /// first.
    pub(super) fn complete(&mut self, stream: K, sequence: u64) -> Vec<SlabIndex> {
        let known = self.completed.entry(stream).or_insert(0);
        *known = sequence.max(*known);
        let mut done = Vec::new();
        while let Some(&(first_stream, first, slot)) =
            self.uses.range((stream, 0, SlabIndex::FIRST)..).next()
        {
            if first_stream != stream || first > sequence {
                break;
            }
            self.uses.remove(&(stream, first, slot));
            let left =
                self.streams_of.get_mut(&slot).expect("a block with a pending use is counted");
            *left -= 1;
            if *left == 0 {
                self.streams_of.remove(&slot);
                done.push(slot);
            }
        }
        done
    }

    pub(super) fn completed_on(&self, stream: K) -> u64 {
        self.completed.get(&stream).copied().unwrap_or(0)
    }

    /// Forgets how far the streams have come that nobody needs to be known; they count as not
    /// having begun.
    pub(super) fn retain_streams(&mut self, needed: impl Fn(K) -> bool) {
        self.completed.retain(|stream, _| needed(*stream));
    }

    /// Forgets how far a stream has come that is not heard of any more.
    pub(super) fn forget(&mut self, stream: K) {
        self.completed.remove(&stream);
    }

    /// The work that each waiting block waits for.
    pub(super) fn waits(&self) -> BTreeMap<SlabIndex, Vec<(K, u64)>> {
        let mut waits = BTreeMap::<_, Vec<_>>::new();
        for (stream, sequence, slot) in &self.uses {
            waits.entry(*slot).or_default().push((*stream, *sequence));
        }
        waits
    }

    /// The streams that blocks wait for, each with the highest sequence that one waits for.
    pub(super) fn awaited(&self) -> impl Iterator<Item = (K, u64)> {
        // One look-up for each stream, not a pass over all uses: thousands of blocks may wait for a few
        // streams.
        let last_on = |stream| {
            let (stream, sequence, _) =
                self.uses.range(..=(stream, u64::MAX, SlabIndex::LAST)).next_back()?;
            Some((*stream, *sequence))
        };
        let first = self.uses.first().and_then(|(stream, ..)| last_on(*stream));
        std::iter::successors(first, move |(stream, _)| {
            let past = (*stream, u64::MAX, SlabIndex::LAST);
            let (next, ..) = self.uses.range(past..).find(|(next, ..)| next != stream)?;
            last_on(*next)
        })
    }
}

impl<K> Default for PendingFrees<K> {
    fn default() -> Self {
        PendingFrees {
            uses: BTreeSet::new(),
            streams_of: BTreeMap::new(),
            completed: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::slab::Slab;

    const A: char = 'a';
    const B: char = 'b';

    #[test]
    fn a_block_waits_for_the_last_use_on_each_stream() {
        let slot = Slab::default().insert(());
        let mut pending = PendingFrees::default();
        assert!(pending.hold(slot, [(A, 3), (B, 9), (A, 5), (A, 4)]));
        assert_eq!(pending.awaited().collect::<Vec<_>>(), [(A, 5), (B, 9)]);
        assert_eq!(pending.complete(A, 4), []);
        assert_eq!(pending.complete(B, 100), []);
        assert_eq!(pending.complete(A, 5), [slot]);
        assert_eq!(pending.awaited().count(), 0);
    }

    #[test]
    fn uses_known_to_be_complete_hold_nothing() {
        let slot = Slab::default().insert(());
        let mut pending = PendingFrees::default();
        pending.complete(A, 5);
        pending.complete(A, 2);
        assert!(!pending.hold(slot, [(A, 5)]));
        assert!(pending.hold(slot, [(A, 6)]));
    }

    #[test]
    fn a_forgotten_stream_counts_as_not_having_begun() {
        let mut pending = PendingFrees::default();
        pending.complete(A, 5);
        pending.complete(B, 5);
        pending.retain_streams(|stream| stream == B);
        assert_eq!((pending.completed_on(A), pending.completed_on(B)), (0, 5));
    }
}
