//! Memory that was taken from the source at once, and what lies where in it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Misplacement;
use super::allocators::AllocatorKey;
use crate::policy::StreamName;
use crate::policy::slab::SlabIndex;
use crate::policy::uses::LastUses;

/// A segment. Its parts are known by their addresses, and fill it.
#[derive(Debug)]
pub(super) struct ProgramSegment<K> {
    pub(super) bytes: u64,
    /// The allocator that it was taken for.
    pub(super) key: AllocatorKey<K>,
    /// The stream of the request that it was taken for.
    pub(super) stream: K,
    parts: BTreeMap<u64, SegmentPart<K>>,
    /// The number of parts that are taken.
    taken: usize,
    /// Their bytes.
    taken_bytes: u64,
    /// The first tick that found nothing of it taken.
    pub(super) idle_since: Option<Duration>,
}

#[derive(Debug)]
pub(super) struct SegmentPart<K> {
    pub(super) bytes: u64,
    pub(super) state: PartState<K>,
}

#[derive(Debug)]
pub(super) enum PartState<K> {
    /// Nobody holds it.
    Free(PriorUse<K>),
    /// A block is there.
    Taken(SlabIndex),
}

/// The work that was done in a range of memory before it was free.
#[derive(Debug, Clone)]
pub(super) struct PriorUse<K> {
    /// The stream that the last block was for.
    pub(super) stream: K,
    /// The last uses, for memory of that stream.
    pub(super) uses: LastUses<K>,
    /// Whether there was a block at all.
    pub(super) was_used: bool,
}

/// Free parts of a segment that cannot go back, as others are taken: how many, and their bytes.
pub(super) type InactiveSplit = [u64; 2];

impl<K: StreamName> ProgramSegment<K> {
    pub(super) fn new(address: u64, bytes: u64, key: AllocatorKey<K>, stream: K) -> Self {
        let before = PriorUse { stream, uses: LastUses::none(), was_used: false };
        let parts =
            BTreeMap::from([(address, SegmentPart { bytes, state: PartState::Free(before) })]);
        ProgramSegment { bytes, key, stream, parts, taken: 0, taken_bytes: 0, idle_since: None }
    }

    /// Puts a block for `stream` where all is free; says what was done there before.
    pub(super) fn take(
        &mut self,
        address: u64,
        bytes: u64,
        slot: SlabIndex,
        stream: K,
    ) -> Result<PriorUse<K>, Misplacement> {
        let end = address + bytes;
        let (first, _) = self.parts.range(..=address).next_back().ok_or(Misplacement::Outside)?;
        let first = *first;
        let mut before = PriorUse { stream, uses: LastUses::none(), was_used: false };
        for part in self.parts.range(first..end).map(|(_, part)| part) {
            let PartState::Free(here) = &part.state else { return Err(Misplacement::Overlap) };
            before.uses.join_from(stream, &here.uses, here.stream);
            before.was_used |= here.was_used;
        }
        for at in [address, end] {
            self.split(at);
        }
        while let Some((&covered, _)) = self.parts.range(address..end).next() {
            self.parts.remove(&covered);
        }
        self.parts.insert(address, SegmentPart { bytes, state: PartState::Taken(slot) });
        self.taken += 1;
        self.taken_bytes += bytes;
        self.idle_since = None;
        Ok(before)
    }

    /// Makes free parts end where one begins.
    fn split(&mut self, at: u64) {
        let Some((&start, part)) = self.parts.range_mut(..at).next_back() else { return };
        let PartState::Free(before) = &part.state else { return };
        if at < start + part.bytes {
            let rest = SegmentPart {
                bytes: start + part.bytes - at,
                state: PartState::Free(before.clone()),
            };
            part.bytes = at - start;
            self.parts.insert(at, rest);
        }
    }

    /// Makes the part at `address` free, which is taken, and joins it with those beside it where that
    /// makes nobody wait who would not otherwise.
    pub(super) fn free(&mut self, address: u64, before: PriorUse<K>) {
        let Some(part) = self.parts.get_mut(&address) else { return };
        part.state = PartState::Free(before);
        self.taken -= 1;
        self.taken_bytes -= part.bytes;
        let next = address + part.bytes;
        self.join_before(next);
        self.join_before(address);
    }

    /// Joins the part at `at` with the one before it, if both are free and their uses are alike.
    fn join_before(&mut self, at: u64) {
        let Some(SegmentPart { bytes, state: PartState::Free(later) }) = self.parts.get(&at) else {
            return;
        };
        let (bytes, later) = (*bytes, later.clone());
        let Some((_, earlier)) = self.parts.range_mut(..at).next_back() else { return };
        let PartState::Free(before) = &mut earlier.state else { return };
        // Joined, both parts would have the uses of both, and whoever gets one would wait for work that
        // was done in the other. On one stream that costs nothing, as its order holds anyway.
        if before.stream != later.stream || before.uses.has_others() || later.uses.has_others() {
            return;
        }
        before.uses.join(&later.uses);
        before.was_used |= later.was_used;
        earlier.bytes += bytes;
        self.parts.remove(&at);
    }

    /// Whether nothing of it is taken.
    pub(super) fn is_unused(&self) -> bool {
        self.taken == 0
    }

    /// The parts, by address.
    pub(super) fn parts(&self) -> impl Iterator<Item = (u64, &SegmentPart<K>)> {
        self.parts.iter().map(|(address, part)| (*address, part))
    }

    /// The last uses of what is free.
    pub(super) fn uses(&self) -> impl Iterator<Item = (K, u64)> {
        self.parts
            .values()
            .filter_map(SegmentPart::before)
            .flat_map(|free| free.uses.all(free.stream))
    }

    pub(super) fn split_free(&self) -> InactiveSplit {
        if self.is_unused() {
            return [0, 0];
        }
        [(self.parts.len() - self.taken) as u64, self.bytes - self.taken_bytes]
    }

    /// The bytes of its longest run of free memory.
    pub(super) fn longest_free(&self) -> u64 {
        let mut run = 0;
        let runs = self.parts.values().map(|part| {
            run = if part.before().is_some() { run + part.bytes } else { 0 };
            run
        });
        runs.max().unwrap_or(0)
    }
}

impl<K> SegmentPart<K> {
    /// The work that was done in it before, if it is free.
    pub(super) fn before(&self) -> Option<&PriorUse<K>> {
        match &self.state {
            PartState::Free(before) => Some(before),
            PartState::Taken(_) => None,
        }
    }
}
