//! The blocks of a pool: what is free in its segments, and since when.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::stream_ordered::PoolSegment;
use crate::queue::QueuePoint;

/// The segments of a pool by address.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    segments: BTreeMap<u64, SegmentFreeList>,
}

/// The free blocks of a segment by address.
#[derive(Debug)]
struct SegmentFreeList {
    segment: Arc<PoolSegment>,
    blocks: BTreeMap<u64, FreeBlock>,
}

/// A free block that ends there. It was freed at a point, or is nobody's.
#[derive(Debug)]
struct FreeBlock {
    end: u64,
    freed: Option<QueuePoint>,
}

/// A range that was taken from a segment.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) start: u64,
    pub(super) segment: Arc<PoolSegment>,
    /// The points at which the blocks were freed that it consists of.
    pub(super) freed: SmallVec<[QueuePoint; 2]>,
}

impl Blocks {
    pub(super) fn add(&mut self, segment: PoolSegment) {
        let Range { start, end } = segment.range;
        let blocks = BTreeMap::from([(start, FreeBlock { end, freed: None })]);
        self.segments.insert(start, SegmentFreeList { segment: Arc::new(segment), blocks });
    }

    /// Takes `size` bytes from the smallest run of blocks that has room for them, and of which each
    /// is nobody's or was freed at a point that is `usable`.
    pub(super) fn take(
        &mut self,
        size: u64,
        usable: impl Fn(&QueuePoint) -> bool,
    ) -> Option<Taken> {
        let runs = self.segments.iter().flat_map(|(&key, free)| {
            free.runs(&usable).into_iter().map(move |run| (run.end - run.start, run.start, key))
        });
        // Best fit; of runs as long, the one at the lowest address, so that the same calls get the
        // same addresses in every run of the program.
        let (_, start, key) = runs.filter(|&(length, ..)| length >= size).min()?;
        let free = self.segments.get_mut(&key)?;
        let freed = free.take(start..start + size);
        Some(Taken { start, segment: Arc::clone(&free.segment), freed })
    }

    /// Takes a block back.
    pub(super) fn give(&mut self, range: Range<u64>, freed: Option<QueuePoint>) {
        let around = self.segments.range_mut(..=range.start).next_back();
        around.into_iter().for_each(|(_, free)| free.give(range.clone(), freed.clone()));
    }

    /// Whether some block was freed in a stream of the device of that ordinal.
    pub(super) fn has_freed_on(&self, device: u32) -> bool {
        let mut blocks = self.segments.values().flat_map(|free| free.blocks.values());
        blocks.any(|block| block.freed.as_ref().is_some_and(|freed| freed.is_on(device)))
    }

    /// Makes what was freed at points that are complete, and of those that are `seen`, nobody's.
    /// Returns how much there is left to see to later: blocks of which that cannot be said, and
    /// segments that somebody holds.
    pub(super) fn settle(&mut self, seen: impl Fn(&QueuePoint) -> bool) -> usize {
        self.segments.values_mut().map(|free| free.settle(&seen)).sum()
    }

    /// Gives segments back that are nobody's, the highest ones first, as long as no fewer than
    /// `keep` bytes of the `reserved` ones are left. Returns how many those are.
    ///
    /// What somebody holds stays: it could not go back now, and would be neither the pool's nor
    /// free.
    pub(super) fn release(&mut self, reserved: u64, keep: u64) -> u64 {
        let mut left = reserved;
        for key in self.segments.keys().rev().copied().collect::<Vec<_>>() {
            let free = &self.segments[&key];
            let bytes = free.segment.bytes();
            if free.is_unused() && !free.is_held() && left >= keep.saturating_add(bytes) {
                left -= bytes;
                self.segments.remove(&key);
            }
        }
        left
    }
}

impl SegmentFreeList {
    /// The longest ranges of usable blocks.
    fn runs(&self, usable: impl Fn(&QueuePoint) -> bool) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (&start, block) in &self.blocks {
            if !block.freed.as_ref().is_none_or(&usable) {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.end == start => run.end = block.end,
                _ => runs.push(start..block.end),
            }
        }
        runs
    }

    /// Takes a range of free blocks out, and returns when they were freed.
    fn take(&mut self, range: Range<u64>) -> SmallVec<[QueuePoint; 2]> {
        let inside = self.blocks.range(..range.end).rev();
        let inside = inside.take_while(|(_, block)| block.end > range.start);
        let starts: SmallVec<[u64; 4]> = inside.map(|(&start, _)| start).collect();
        let mut freed = SmallVec::new();
        for start in starts {
            let Some(FreeBlock { end, freed: point }) = self.blocks.remove(&start) else {
                continue;
            };
            if start < range.start {
                self.blocks.insert(start, FreeBlock { end: range.start, freed: point.clone() });
            }
            if end > range.end {
                self.blocks.insert(range.end, FreeBlock { end, freed: point.clone() });
            }
            freed.extend(point);
        }
        freed
    }

    fn give(&mut self, range: Range<u64>, freed: Option<QueuePoint>) {
        self.blocks.insert(range.start, FreeBlock { end: range.end, freed });
        self.merge(range.start);
        let before = self.blocks.range(..range.start).next_back().map(|(&start, _)| start);
        before.into_iter().for_each(|start| self.merge(start));
    }

    /// Merges a block with the one that follows on it, if both were freed in the same stream, or
    /// are nobody's.
    fn merge(&mut self, start: u64) {
        let Some(block) = self.blocks.get(&start) else { return };
        let Some(next) = self.blocks.get(&block.end) else { return };
        let freed = match (&block.freed, &next.freed) {
            (None, None) => None,
            (Some(one), Some(other)) if one.precedes(other) => Some(other.clone()),
            (Some(one), Some(other)) if other.precedes(one) => Some(one.clone()),
            _ => return,
        };
        let (middle, end) = (block.end, next.end);
        self.blocks.remove(&middle);
        self.blocks.insert(start, FreeBlock { end, freed });
    }

    fn settle(&mut self, seen: impl Fn(&QueuePoint) -> bool) -> usize {
        for block in self.blocks.values_mut() {
            block.freed.take_if(|freed| seen(freed) && freed.is_complete());
        }
        // From the last one down: a block that has taken in the one after it can itself be taken in
        // by the one before.
        let starts: Vec<u64> = self.blocks.keys().rev().copied().collect();
        starts.into_iter().for_each(|start| self.merge(start));
        let unsettled = self.blocks.values().filter(|block| block.freed.is_some()).count();
        unsettled + usize::from(self.is_unused() && self.is_held())
    }

    /// Whether there is an allocation from it left: one that is freed, but that work in flight or
    /// the device's list of released allocations keeps. New ones come to be only under the pool's
    /// lock.
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.segment) > 1
    }

    fn is_unused(&self) -> bool {
        let first = self.blocks.first_key_value();
        first.is_some_and(|(&start, block)| {
            block.freed.is_none() && (start..block.end) == self.segment.range
        })
    }
}
