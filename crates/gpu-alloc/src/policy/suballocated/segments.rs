//! The segments that were taken for a program's allocators.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Misplacement;
use super::allocators::{AllocatorKey, key_of};
use super::segment::{InactiveSplit, PriorUse, ProgramSegment};
use crate::policy::slab::SlabIndex;
use crate::policy::{Address, StreamAndPool, StreamName};

/// The segments by address, and what is free in those that are partly in use.
#[derive(Debug)]
pub(super) struct ProgramSegments<K> {
    by_address: BTreeMap<u64, ProgramSegment<K>>,
    split: InactiveSplit,
}

impl<K: StreamName> ProgramSegments<K> {
    /// Adds what was taken for an allocator, at the request of a stream.
    pub(super) fn add(
        &mut self,
        Address(address): Address,
        bytes: u64,
        key: AllocatorKey<K>,
        stream: K,
    ) {
        self.by_address.insert(address, ProgramSegment::new(address, bytes, key, stream));
    }

    /// Removes a segment that nobody uses.
    pub(super) fn remove(&mut self, address: u64) {
        self.by_address.remove(&address);
    }

    /// Puts a block where all is free; returns the address of its segment, and the work that was
    /// done there before.
    pub(super) fn take(
        &mut self,
        address: u64,
        bytes: u64,
        slot: SlabIndex,
        owner: StreamAndPool<K>,
    ) -> Result<(u64, PriorUse<K>), Misplacement> {
        let end = address.checked_add(bytes).ok_or(Misplacement::Outside)?;
        let before = self.by_address.range_mut(..=address).next_back();
        let (start, segment) = before
            .filter(|(start, segment)| {
                segment.key == key_of(owner) && end - **start <= segment.bytes
            })
            .ok_or(Misplacement::Outside)?;
        let split = segment.split_free();
        let prior = segment.take(address, bytes, slot, owner.stream)?;
        let (start, now) = (*start, segment.split_free());
        self.count_split(split, now);
        Ok((start, prior))
    }

    /// Makes the block at an address free.
    pub(super) fn free(&mut self, segment: u64, address: u64, prior: PriorUse<K>) {
        let Some(segment) = self.by_address.get_mut(&segment) else { return };
        let split = segment.split_free();
        segment.free(address, prior);
        let now = segment.split_free();
        self.count_split(split, now);
    }

    /// Notes that a segment was seen unused at `now`; returns since when it has been.
    pub(super) fn note_idle(&mut self, address: u64, now: Duration) -> Option<Duration> {
        let segment = self.by_address.get_mut(&address)?;
        Some(*segment.idle_since.get_or_insert(now))
    }

    pub(super) fn get(&self, address: u64) -> Option<&ProgramSegment<K>> {
        self.by_address.get(&address)
    }

    /// All segments with their addresses, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &ProgramSegment<K>)> {
        self.by_address.iter().map(|(address, segment)| (*address, segment))
    }

    /// The segments of one allocator.
    pub(super) fn of(&self, key: AllocatorKey<K>) -> impl Iterator<Item = &ProgramSegment<K>> {
        self.by_address.values().filter(move |segment| segment.key == key)
    }

    /// The number of free parts in segments that are partly in use, and their bytes.
    pub(super) fn split_free(&self) -> (u64, u64) {
        (self.split[0], self.split[1])
    }

    fn count_split(&mut self, before: InactiveSplit, now: InactiveSplit) {
        for (all, (before, now)) in self.split.iter_mut().zip(before.into_iter().zip(now)) {
            *all = *all - before + now;
        }
    }
}

impl<K> Default for ProgramSegments<K> {
    fn default() -> Self {
        ProgramSegments { by_address: BTreeMap::new(), split: [0, 0] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_lies_within_one_segment_of_its_allocator() {
        let mut segments = ProgramSegments::default();
        segments.add(Address(1000), 1000, None, 'a');
        segments.add(Address(2000), 1000, None, 'a');
        let mut take = |address, bytes| {
            segments.take(address, bytes, SlabIndex::FIRST, 'a'.into()).map(|(segment, _)| segment)
        };
        assert_eq!(take(1500, 600), Err(Misplacement::Outside));
        assert_eq!(take(u64::MAX, 600), Err(Misplacement::Outside));
        assert_eq!(take(999, 1), Err(Misplacement::Outside));
        assert_eq!(take(2000, 1000), Ok(2000));
        assert_eq!(take(2500, 100), Err(Misplacement::Overlap));
    }

    #[test]
    fn free_parts_count_while_others_of_their_segment_are_taken() {
        let mut segments = ProgramSegments::default();
        segments.add(Address(0), 1000, None, 'a');
        assert_eq!(segments.split_free(), (0, 0));
        let (segment, prior) =
            segments.take(200, 100, SlabIndex::FIRST, 'a'.into()).expect("it is free");
        assert_eq!(segments.split_free(), (2, 900));
        segments.free(segment, 200, prior);
        assert_eq!(segments.split_free(), (0, 0));
    }
}
