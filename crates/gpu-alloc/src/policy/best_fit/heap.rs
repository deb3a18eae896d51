//! The segments of page-locked memory, cut into blocks, and the free ones among them by size.

use std::collections::BTreeSet;
use std::ops::Index;
use std::time::Duration;

use crate::policy::block_list::{BlockList, LinkedBlock};
use crate::policy::slab::SlabIndex;
use crate::policy::{Address, Block};

/// The notes about a block.
#[derive(Debug)]
pub(super) struct HostBlock {
    /// The bytes that were asked for; 0 where it is free.
    pub(super) requested: u64,
    pub(super) state: HostBlockState,
    /// Whether any part of it was handed out before.
    was_used: bool,
    /// The first tick that found it to be an unused segment, since it was last in use.
    idle_since: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostBlockState {
    Free,
    Allocated,
    /// Given back by the program, and perhaps still used by a stream.
    PendingFrees,
}

/// A free block as the search sees it: by size, then address. The lowest of equals is taken, so that
/// what is free gathers at high addresses and whole segments fall empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BySize {
    pub(super) bytes: u64,
    pub(super) address: Address,
    pub(super) slot: SlabIndex,
}

/// All blocks. Two neighbours of one segment are never both free.
#[derive(Debug, Default)]
pub(super) struct HostHeap {
    blocks: BlockList<HostBlock>,
    free: BTreeSet<BySize>,
}

impl HostHeap {
    /// Takes the smallest free block that has `size` bytes out of the free ones.
    pub(super) fn take_best_fit(&mut self, size: u64) -> Option<SlabIndex> {
        let least = BySize { bytes: size, address: Address(0), slot: SlabIndex::FIRST };
        let best = *self.free.range(least..).next()?;
        self.free.remove(&best);
        Some(best.slot)
    }

    /// Adds a segment, as a free block that is not among the free ones.
    pub(super) fn add_segment(&mut self, (address, bytes): (Address, u64)) -> SlabIndex {
        self.blocks.add_segment(address, bytes, HostBlock::free(false))
    }

    /// Hands out the first `size` bytes of a block that was taken; the rest stays free.
    pub(super) fn hand_out(&mut self, slot: SlabIndex, requested: u64, size: u64) -> Block {
        let was_used = self.blocks[slot].note.was_used;
        if self.blocks[slot].bytes() > size {
            let rest = self.blocks.split(slot, size, HostBlock::free(was_used));
            self.free.insert(self.by_size(rest));
        }
        let state = HostBlockState::Allocated;
        *self.blocks.note_mut(slot) =
            HostBlock { requested, state, was_used: true, idle_since: None };
        let (address, bytes) = (self.blocks[slot].address(), self.blocks[slot].bytes());
        Block { slot, address, bytes, last_use: 0, is_recycled: was_used, is_shared: false }
    }

    /// Whether a block was handed out here and is still held.
    pub(super) fn is_held(&self, block: &Block) -> bool {
        self.blocks.get(block.slot).is_some_and(|held| {
            held.note.state == HostBlockState::Allocated
                && (held.address(), held.bytes()) == (block.address, block.bytes)
        })
    }

    /// Makes a freed block wait.
    pub(super) fn hold_back(&mut self, slot: SlabIndex) {
        self.blocks.note_mut(slot).state = HostBlockState::PendingFrees;
    }

    /// Makes a block free that was held or waited, and merges it with free neighbours.
    pub(super) fn free(&mut self, slot: SlabIndex) {
        let note = self.blocks.note_mut(slot);
        (note.state, note.requested) = (HostBlockState::Free, 0);
        let (previous, next) = (self.blocks[slot].previous(), self.blocks[slot].next());
        if let Some(next) = self.if_free(next) {
            self.free.remove(&self.by_size(next));
            self.absorb_next(slot);
        }
        let mut merged = slot;
        if let Some(previous) = self.if_free(previous) {
            self.free.remove(&self.by_size(previous));
            self.absorb_next(previous);
            merged = previous;
        }
        self.free.insert(self.by_size(merged));
    }

    /// The free blocks that are whole segments, by size.
    pub(super) fn unused_segments(&self) -> impl DoubleEndedIterator<Item = BySize> {
        self.free.iter().copied().filter(|free| self.blocks[free.slot].is_whole_segment())
    }

    /// Notes that an unused segment was seen at `now`; returns since when it has been unused.
    pub(super) fn note_idle(&mut self, segment: BySize, now: Duration) -> Duration {
        *self.blocks.note_mut(segment.slot).idle_since.get_or_insert(now)
    }

    /// Removes an unused segment.
    pub(super) fn remove_segment(&mut self, segment: BySize) {
        self.free.remove(&segment);
        self.blocks.remove_segment(segment.slot);
    }

    pub(super) fn largest_free(&self) -> u64 {
        self.free.last().map_or(0, |free| free.bytes)
    }

    /// The blocks of each segment, the segments by address.
    pub(super) fn segments(&self) -> Vec<Vec<SlabIndex>> {
        let mut heads: Vec<_> = self.blocks.heads(|_| true).collect();
        heads.sort_unstable_by_key(|head| self.blocks[*head].address());
        heads.into_iter().map(|head| self.blocks.run(head, |_| true).collect()).collect()
    }

    fn if_free(&self, slot: Option<SlabIndex>) -> Option<SlabIndex> {
        slot.filter(|slot| self.blocks[*slot].note.state == HostBlockState::Free)
    }

    fn absorb_next(&mut self, slot: SlabIndex) {
        let next = self.blocks.absorb_next(slot);
        self.blocks.note_mut(slot).was_used |= next.was_used;
    }

    fn by_size(&self, slot: SlabIndex) -> BySize {
        let block = &self.blocks[slot];
        BySize { bytes: block.bytes(), address: block.address(), slot }
    }
}

impl HostBlock {
    fn free(was_used: bool) -> HostBlock {
        HostBlock { requested: 0, state: HostBlockState::Free, was_used, idle_since: None }
    }
}

impl Index<SlabIndex> for HostHeap {
    type Output = LinkedBlock<HostBlock>;

    fn index(&self, slot: SlabIndex) -> &LinkedBlock<HostBlock> {
        &self.blocks[slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out the best fit, of which there must be one.
    fn allocate(heap: &mut HostHeap, bytes: u64) -> Block {
        let slot = heap.take_best_fit(bytes).expect("a free block fits");
        heap.hand_out(slot, bytes, bytes)
    }

    /// A heap with an unused segment.
    fn with_segment(bytes: u64) -> HostHeap {
        let mut heap = HostHeap::default();
        let slot = heap.add_segment((Address(0), bytes));
        heap.free(slot);
        heap
    }

    #[test]
    fn the_smallest_block_that_fits_is_handed_out_and_the_lowest_among_equals() {
        let mut heap = with_segment(100);
        let blocks: Vec<_> = [20, 10, 20, 10, 40].map(|bytes| allocate(&mut heap, bytes)).into();
        for index in [2, 0] {
            heap.free(blocks[index].slot);
        }
        assert_eq!(allocate(&mut heap, 15).address(), Address(0));
        assert_eq!(allocate(&mut heap, 15).address(), Address(30));
        assert_eq!(heap.largest_free(), 5);
    }

    #[test]
    fn a_segment_is_unused_once_the_last_block_has_merged() {
        let mut heap = with_segment(100);
        let blocks = [allocate(&mut heap, 60), allocate(&mut heap, 40)];
        assert!(blocks.iter().all(|block| heap.is_held(block) && !block.is_recycled));
        heap.hold_back(blocks[0].slot);
        assert!(!heap.is_held(&blocks[0]));
        heap.free(blocks[1].slot);
        assert_eq!(heap.unused_segments().count(), 0);
        heap.free(blocks[0].slot);
        let unused = heap.unused_segments().next().expect("nothing of it is in use");
        assert_eq!(heap.note_idle(unused, Duration::from_secs(1)), Duration::from_secs(1));
        assert_eq!(heap.note_idle(unused, Duration::from_secs(2)), Duration::from_secs(1));
        assert!(allocate(&mut heap, 10).is_recycled);
        assert_eq!(heap.unused_segments().count(), 0);
    }
}
