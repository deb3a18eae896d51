//! The blocks of PyTorch's policy, and the sets in which those that nobody holds are found.

use std::collections::BTreeSet;
use std::ops::Index;
use std::time::Duration;

use super::free_set::{FreeBlockKey, FreeSet};
use super::size::{RequestSize, Sizes};
use crate::policy::block_list::{BlockList, LinkedBlock};
use crate::policy::slab::SlabIndex;
use crate::policy::{Address, Block, Pool, StreamAndPool, StreamName};

/// A block in its segment.
pub(super) type HeapBlock<K> = LinkedBlock<StreamBlock<K>>;

/// The notes about a block, whoever holds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamBlock<K> {
    /// The bytes that were asked for; 0 unless it is held or waits for work.
    pub(super) requested: u64,
    pub(super) owner: StreamAndPool<K>,
    pub(super) pool: Pool,
    pub(super) state: StreamBlockState,
    /// The last use on the owner's stream of any byte since the segment came from the source. It
    /// only grows, through splits and merges, so it holds for owners before the last one, too.
    pub(super) last_use: u64,
    /// Whether any byte was handed out since the segment came from the source.
    is_recycled: bool,
    /// The count of searches at which it became free.
    freed_at: u64,
    /// The first tick that found it free, if there was one.
    pub(super) idle_since: Option<Duration>,
    /// The range of addresses that it is part of, if it is not part of a plain segment.
    pub(super) range: Option<SlabIndex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamBlockState {
    Free,
    Allocated,
    /// Freed, and not to be handed out before work on other streams is done.
    PendingFrees,
    /// Addresses without memory.
    Unmapped,
}

impl<K: StreamName> StreamBlock<K> {
    fn new(pool: Pool, owner: StreamAndPool<K>, state: StreamBlockState) -> Self {
        StreamBlock {
            requested: 0,
            owner,
            pool,
            state,
            last_use: 0,
            is_recycled: false,
            freed_at: 0,
            idle_since: None,
            range: None,
        }
    }

    pub(super) fn is_mapped(&self) -> bool {
        self.state != StreamBlockState::Unmapped
    }

    /// Whether nobody holds it and it waits for nothing.
    fn is_idle(&self) -> bool {
        matches!(self.state, StreamBlockState::Free | StreamBlockState::Unmapped)
    }
}

/// All blocks. One that nobody holds is in a set, by what it is good for; between
/// [`take`](Self::take) and [`hand_out`](Self::hand_out) it is in none.
///
/// Two neighbours of one segment are never both free, nor both without memory.
#[derive(Debug)]
pub(super) struct BlockHeap<K> {
    blocks: BlockList<StreamBlock<K>>,
    small: FreeSet<K>,
    large: FreeSet<K>,
    /// The blocks without memory, by address.
    unmapped: BTreeSet<(Pool, StreamAndPool<K>, Address, SlabIndex)>,
    /// The number of times that large memory which is in no pool was looked for: the clock by which
    /// it ages. PyTorch's garbage collection counts so, too.
    searches: u64,
}

impl<K: StreamName> BlockHeap<K> {
    /// Takes the free block that a request gets: the smallest that fits, the lowest among equals.
    /// One that could grow counts with what it could grow to: PyTorch, too, would rather fill a hole
    /// than the end of an expandable segment, as what lies at the end can still become larger.
    pub(super) fn take_best_fit(
        &mut self,
        size: RequestSize,
        owner: StreamAndPool<K>,
        sizes: &Sizes,
    ) -> Option<SlabIndex> {
        self.searches += u64::from(size.pool == Pool::Large && owner.pool.is_none());
        let FreeBlockKey { bytes, slot, .. } = self.best_fit(size, owner)?;
        if !sizes.suits(size, bytes) {
            return None;
        }
        self.take(slot);
        Some(slot)
    }

    fn best_fit(&self, size: RequestSize, owner: StreamAndPool<K>) -> Option<FreeBlockKey<K>> {
        let mut fits = self.free_set(size.pool).fits(owner, size.rounded);
        let mut best = fits.next()?;
        if !self.unmapped.is_empty() {
            for next in fits {
                if self.room(next) >= self.room(best) {
                    break;
                }
                best = next;
            }
        }
        Some(*best)
    }

    /// The bytes that a free block has, and those that it could grow by.
    fn room(&self, free: &FreeBlockKey<K>) -> u64 {
        let next = self.blocks[free.slot].next().map(|next| &self.blocks[next]);
        let unmapped = next.filter(|next| !next.note.is_mapped());
        free.bytes + unmapped.map_or(0, LinkedBlock::bytes)
    }

    /// Adds a segment that came from the source, as a free block that is taken.
    pub(super) fn add_segment(
        &mut self,
        (address, bytes): (Address, u64),
        pool: Pool,
        owner: StreamAndPool<K>,
    ) -> SlabIndex {
        let note = StreamBlock::new(pool, owner, StreamBlockState::Free);
        self.blocks.add_segment(address, bytes, note)
    }

    /// Adds a range of addresses without memory.
    pub(super) fn add_range(
        &mut self,
        (address, bytes): (Address, u64),
        pool: Pool,
        owner: StreamAndPool<K>,
        range: SlabIndex,
    ) -> SlabIndex {
        let note = StreamBlock::new(pool, owner, StreamBlockState::Unmapped);
        let note = StreamBlock { range: Some(range), ..note };
        let slot = self.blocks.add_segment(address, bytes, note);
        self.put(slot);
        slot
    }

    /// Removes a plain segment that is one free block.
    pub(super) fn remove_segment(&mut self, slot: SlabIndex) -> HeapBlock<K> {
        self.take(slot);
        self.blocks.remove_segment(slot)
    }

    /// Removes the ranges that have no memory at all, and says which they are.
    pub(super) fn remove_empty_ranges(&mut self) -> Vec<SlabIndex> {
        let whole = |slot: SlabIndex| self.blocks[slot].is_whole_segment();
        let empty: Vec<_> = self.unmapped.iter().map(|e| e.3).filter(|slot| whole(*slot)).collect();
        let ranges = empty.into_iter().map(|slot| self.remove_segment(slot).note.range);
        ranges.map(|range| range.expect("addresses without memory are of a range")).collect()
    }

    /// Makes a block that was taken the program's. What it does not need of it is split off, if that
    /// is enough to be of use, and stays free.
    pub(super) fn hand_out(
        &mut self,
        slot: SlabIndex,
        requested: u64,
        size: RequestSize,
        sizes: &Sizes,
    ) -> Block {
        let block = &self.blocks[slot];
        if sizes.splits(size, block.bytes() - size.rounded, block.note.range.is_some()) {
            let rest = self.split(slot, size.rounded);
            self.put(rest);
        }
        let note = self.blocks.note_mut(slot);
        note.state = StreamBlockState::Allocated;
        note.requested = requested;
        note.idle_since = None;
        let is_recycled = std::mem::replace(&mut note.is_recycled, true);
        let last_use = note.last_use;
        let (address, bytes) = (self.blocks[slot].address(), self.blocks[slot].bytes());
        Block { slot, address, bytes, last_use, is_recycled, is_shared: false }
    }

    /// The block that was handed out as `block`, if it is this heap's.
    pub(super) fn held(&self, block: &Block) -> Option<&HeapBlock<K>> {
        self.blocks.get(block.slot).filter(|held| {
            held.note.state == StreamBlockState::Allocated
                && (held.address(), held.bytes()) == (block.address, block.bytes)
        })
    }

    /// Notes a use of a block on its owner's stream.
    pub(super) fn note_use(&mut self, slot: SlabIndex, sequence: u64) {
        let last_use = &mut self.blocks.note_mut(slot).last_use;
        *last_use = sequence.max(*last_use);
    }

    /// Makes a freed block wait.
    pub(super) fn hold_back(&mut self, slot: SlabIndex) {
        self.blocks.note_mut(slot).state = StreamBlockState::PendingFrees;
    }

    /// Makes a block free that was held or waited: it merges with its free neighbours and can be
    /// handed out again. Returns its kind, its bytes and those that had been asked for.
    pub(super) fn free(&mut self, slot: SlabIndex) -> (Pool, u64, u64) {
        let bytes = self.blocks[slot].bytes();
        let note = self.blocks.note_mut(slot);
        note.state = StreamBlockState::Free;
        let (pool, requested) = (note.pool, std::mem::take(&mut note.requested));
        self.merge_and_put(slot);
        (pool, bytes, requested)
    }

    /// Notes that a block without memory has some at its beginning now; returns the free block that
    /// this is part of.
    pub(super) fn map(&mut self, slot: SlabIndex, mapped: u64) -> SlabIndex {
        self.take(slot);
        if mapped < self.blocks[slot].bytes() {
            let rest = self.split(slot, mapped);
            self.put(rest);
        }
        self.blocks.note_mut(slot).state = StreamBlockState::Free;
        self.merge_and_put(slot)
    }

    /// Notes that a part of a free block has no memory any more.
    pub(super) fn unmap(&mut self, mut slot: SlabIndex, (address, bytes): (Address, u64)) {
        self.take(slot);
        let before = address.0 - self.blocks[slot].address().0;
        if before > 0 {
            let rest = self.split(slot, before);
            self.put(slot);
            slot = rest;
        }
        if self.blocks[slot].bytes() > bytes {
            let rest = self.split(slot, bytes);
            self.put(rest);
        }
        let note = self.blocks.note_mut(slot);
        note.state = StreamBlockState::Unmapped;
        (note.last_use, note.is_recycled) = (0, false);
        self.merge_and_put(slot);
    }

    /// The first block, free or without memory, of the lowest run of such blocks that a request has
    /// room in, once memory is mapped where it is missing.
    pub(super) fn lowest_room(
        &self,
        size: RequestSize,
        owner: StreamAndPool<K>,
    ) -> Option<SlabIndex> {
        let has_room = |first: &SlabIndex| {
            let mut room = 0;
            self.blocks.run(*first, |block| block.note.is_idle()).any(|slot| {
                room += self.blocks[slot].bytes();
                room >= size.rounded
            })
        };
        let unmapped = self.unmapped.range((size.pool, owner, Address(0), SlabIndex::FIRST)..);
        let unmapped = unmapped.take_while(|block| (block.0, block.1) == (size.pool, owner));
        let is_idle = |slot: &SlabIndex| self.blocks[*slot].note.is_idle();
        // A free block before it belongs to the run: two such blocks never follow each other.
        let starts = unmapped
            .map(|block| self.blocks[block.3].previous().filter(is_idle).unwrap_or(block.3));
        starts.into_iter().find(has_room)
    }

    /// Notes that a tick at `now` found a block free.
    pub(super) fn note_idle(&mut self, slot: SlabIndex, now: Duration) {
        self.blocks.note_mut(slot).idle_since.get_or_insert(now);
    }

    /// The free blocks of all owners: the small ones, then the large ones, in the order of
    /// [`FreeBlockKey`].
    pub(super) fn free_blocks(&self) -> impl Iterator<Item = &FreeBlockKey<K>> {
        self.small.iter().chain(self.large.iter())
    }

    pub(super) fn free_set(&self, pool: Pool) -> &FreeSet<K> {
        match pool {
            Pool::Small => &self.small,
            Pool::Large => &self.large,
        }
    }

    /// The number of searches since a block became free.
    pub(super) fn age(&self, slot: SlabIndex) -> u64 {
        self.searches - self.blocks[slot].note.freed_at
    }

    pub(super) fn is_plain_segment(&self, slot: SlabIndex) -> bool {
        let block = &self.blocks[slot];
        block.note.range.is_none() && block.is_whole_segment()
    }

    /// All blocks, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &HeapBlock<K>> {
        self.blocks.iter()
    }

    /// The blocks of each plain segment, and of each part of an expandable one that is mapped
    /// throughout, in no order.
    pub(super) fn mapped_runs(&self) -> impl Iterator<Item = Vec<SlabIndex>> {
        let is_mapped = |block: &HeapBlock<K>| block.note.is_mapped();
        let heads = self.blocks.heads(is_mapped);
        heads.map(move |head| self.blocks.run(head, is_mapped).collect())
    }

    /// Takes a block that is free, or without memory, from its set.
    pub(super) fn take(&mut self, slot: SlabIndex) {
        let key = self.key(slot);
        let StreamBlock { pool, state, .. } = self.blocks[slot].note;
        if state == StreamBlockState::Unmapped {
            let found = self.unmapped.remove(&(pool, key.owner, key.address, slot));
            debug_assert!(found, "addresses without memory are removed as they were inserted");
        } else {
            self.free_set_mut(pool).remove(key);
        }
    }

    /// Puts a block that is free, or without memory, where it is found.
    fn put(&mut self, slot: SlabIndex) {
        let key = self.key(slot);
        self.blocks.note_mut(slot).freed_at = self.searches;
        let StreamBlock { pool, state, .. } = self.blocks[slot].note;
        if state == StreamBlockState::Unmapped {
            self.unmapped.insert((pool, key.owner, key.address, slot));
        } else {
            self.free_set_mut(pool).insert(key);
        }
    }

    fn key(&self, slot: SlabIndex) -> FreeBlockKey<K> {
        let block = &self.blocks[slot];
        let split = block.note.range.is_none() && !block.is_whole_segment();
        let (owner, bytes, address) = (block.note.owner, block.bytes(), block.address());
        FreeBlockKey { owner, bytes, address, slot, split }
    }

    fn free_set_mut(&mut self, pool: Pool) -> &mut FreeSet<K> {
        match pool {
            Pool::Small => &mut self.small,
            Pool::Large => &mut self.large,
        }
    }

    /// Cuts a block that is in no set after `bytes`; returns what follows, in the same state.
    fn split(&mut self, slot: SlabIndex, bytes: u64) -> SlabIndex {
        let rest = StreamBlock { requested: 0, ..self.blocks[slot].note };
        self.blocks.split(slot, bytes, rest)
    }

    /// Joins a block that is in no set with those neighbours that are in its state, which leave
    /// theirs, and puts it where it is found; returns what it is part of now.
    fn merge_and_put(&mut self, slot: SlabIndex) -> SlabIndex {
        let (previous, next) = (self.blocks[slot].previous(), self.blocks[slot].next());
        let state = self.blocks[slot].note.state;
        let is_alike = |heap: &Self, slot: &SlabIndex| heap.blocks[*slot].note.state == state;
        if let Some(next) = next.filter(|next| is_alike(self, next)) {
            self.take(next);
            self.absorb_next(slot);
        }
        let mut merged = slot;
        if let Some(previous) = previous.filter(|previous| is_alike(self, previous)) {
            self.take(previous);
            self.absorb_next(previous);
            merged = previous;
        }
        self.put(merged);
        merged
    }

    fn absorb_next(&mut self, slot: SlabIndex) {
        let next = self.blocks.absorb_next(slot);
        let note = self.blocks.note_mut(slot);
        note.idle_since = None;
        note.last_use = note.last_use.max(next.last_use);
        note.is_recycled |= next.is_recycled;
    }
}

impl<K> Default for BlockHeap<K> {
    fn default() -> Self {
        BlockHeap {
            blocks: BlockList::default(),
            small: FreeSet::default(),
            large: FreeSet::default(),
            unmapped: BTreeSet::new(),
            searches: 0,
        }
    }
}

impl<K> Index<SlabIndex> for BlockHeap<K> {
    type Output = HeapBlock<K>;

    fn index(&self, slot: SlabIndex) -> &HeapBlock<K> {
        &self.blocks[slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn sizes() -> Sizes {
        Sizes::new("".parse().expect("no options are well formed"))
    }

    /// Hands out the best fit, of which there must be one.
    fn allocate(heap: &mut BlockHeap<u8>, bytes: u64) -> Block {
        let (sizes, size) = (sizes(), sizes().of(bytes));
        let slot = heap.take_best_fit(size, 0.into(), &sizes).expect("a free block fits");
        heap.hand_out(slot, bytes, size, &sizes)
    }

    /// A heap with a free segment of 2 MiB for small requests.
    fn with_segment() -> BlockHeap<u8> {
        let mut heap = BlockHeap::default();
        let slot = heap.add_segment((Address(0), 2 * MIB), Pool::Small, 0.into());
        heap.free(slot);
        heap
    }

    #[test]
    fn freed_neighbours_are_one_block_with_the_last_use_of_both() {
        let mut heap = with_segment();
        let blocks = [allocate(&mut heap, 512), allocate(&mut heap, 512)];
        heap.note_use(blocks[1].slot, 7);
        for block in &blocks {
            assert_eq!(heap.free(block.slot), (Pool::Small, 512, 512));
        }
        assert_eq!(heap.iter().count(), 1);
        assert!(heap.is_plain_segment(blocks[0].slot));
        let whole = allocate(&mut heap, 512);
        assert_eq!((whole.last_use, whole.is_recycled), (7, true));
    }

    #[test]
    fn a_block_that_waits_is_neither_found_nor_merged() {
        let mut heap = with_segment();
        let block = allocate(&mut heap, MIB);
        heap.hold_back(block.slot);
        assert!(heap.held(&block).is_none(), "nobody holds it any more");
        assert_eq!(allocate(&mut heap, MIB).address(), Address(MIB));
        assert!(heap.take_best_fit(sizes().of(512), 0.into(), &sizes()).is_none());
        heap.free(block.slot);
        assert_eq!(allocate(&mut heap, 512).address(), Address(0));
    }

    #[test]
    fn a_hole_is_filled_before_the_end_that_could_grow() {
        let mut heap = BlockHeap::default();
        let range = heap.add_range((Address(0), 64 * MIB), Pool::Small, 0.into(), SlabIndex::FIRST);
        let mapped = heap.map(range, 2 * MIB);
        assert_eq!(heap[mapped].bytes(), 2 * MIB);
        let hole = allocate(&mut heap, MIB);
        let held = allocate(&mut heap, MIB / 2);
        heap.free(hole.slot);
        // The end has half the bytes of the hole; with what it could grow by it has far more.
        assert_eq!(allocate(&mut heap, 512).address(), Address(0));
        let room = heap.lowest_room(sizes().of(MIB), 0.into()).expect("addresses are left");
        assert_eq!(heap[room].address().0, held.address().0 + MIB / 2);
    }

    #[test]
    fn what_is_unmapped_is_forgotten_and_an_empty_range_goes() {
        let mut heap = BlockHeap::default();
        let range = heap.add_range((Address(0), 8 * MIB), Pool::Small, 0.into(), SlabIndex::FIRST);
        let slot = heap.map(range, 4 * MIB);
        heap.note_use(slot, 3);
        heap.unmap(slot, (Address(0), 2 * MIB));
        assert_eq!(heap.mapped_runs().count(), 1);
        assert!(heap.remove_empty_ranges().is_empty());
        let left = heap.mapped_runs().next().expect("two MiB are left")[0];
        heap.unmap(left, (Address(2 * MIB), 2 * MIB));
        assert_eq!(heap.iter().map(|block| block.note.last_use).collect::<Vec<_>>(), [0]);
        assert_eq!(heap.remove_empty_ranges(), [SlabIndex::FIRST]);
        assert_eq!(heap.iter().count(), 0);
    }
}
