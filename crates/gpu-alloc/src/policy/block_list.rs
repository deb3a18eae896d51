//! The blocks of segments, linked in the order of their addresses.

use std::ops::Index;

use super::Address;
use super::slab::{Slab, SlabIndex};

/// A block of a segment, which knows its neighbours, and what a policy notes about it.
#[derive(Debug)]
pub(super) struct LinkedBlock<T> {
    address: Address,
    bytes: u64,
    previous: Option<SlabIndex>,
    next: Option<SlabIndex>,
    /// The policy's notes.
    pub(super) note: T,
}

impl<T> LinkedBlock<T> {
    pub(super) fn address(&self) -> Address {
        self.address
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The address after its last byte.
    pub(super) fn end(&self) -> u64 {
        self.address.0 + self.bytes
    }

    /// The block before it in its segment.
    pub(super) fn previous(&self) -> Option<SlabIndex> {
        self.previous
    }

    /// The block after it in its segment.
    pub(super) fn next(&self) -> Option<SlabIndex> {
        self.next
    }

    /// Whether its segment has no other block.
    pub(super) fn is_whole_segment(&self) -> bool {
        self.previous.is_none() && self.next.is_none()
    }
}

/// Segments, each of them a list of blocks without gaps: the doubly linked blocks of PyTorch's
/// allocator, with slab indices instead of pointers.
#[derive(Debug)]
pub(super) struct BlockList<T> {
    blocks: Slab<LinkedBlock<T>>,
}

impl<T> BlockList<T> {
    /// Adds a segment of one block.
    pub(super) fn add_segment(&mut self, address: Address, bytes: u64, note: T) -> SlabIndex {
        self.blocks.insert(LinkedBlock { address, bytes, previous: None, next: None, note })
    }

    /// Removes a segment of one block.
    pub(super) fn remove_segment(&mut self, slot: SlabIndex) -> LinkedBlock<T> {
        debug_assert!(self.blocks[slot].is_whole_segment(), "the segment has one block");
        self.blocks.remove(slot)
    }

    /// Cuts a block after `bytes`. The part that follows is a new block with a note of its own.
    pub(super) fn split(&mut self, slot: SlabIndex, bytes: u64, note: T) -> SlabIndex {
        let block = &mut self.blocks[slot];
        let (address, after) = (Address(block.address.0 + bytes), block.next);
        let rest = block.bytes - bytes;
        block.bytes = bytes;
        let rest = LinkedBlock { address, bytes: rest, previous: Some(slot), next: after, note };
        let rest = self.blocks.insert(rest);
        self.blocks[slot].next = Some(rest);
        if let Some(after) = after {
            self.blocks[after].previous = Some(rest);
        }
        rest
    }

    /// Joins a block with the one after it, whose note it returns.
    pub(super) fn absorb_next(&mut self, slot: SlabIndex) -> T {
        let next = self.blocks[slot].next.expect("only a block that has a next one absorbs it");
        let next = self.blocks.remove(next);
        let block = &mut self.blocks[slot];
        block.bytes += next.bytes;
        block.next = next.next;
        if let Some(after) = next.next {
            self.blocks[after].previous = Some(slot);
        }
        next.note
    }

    pub(super) fn get(&self, slot: SlabIndex) -> Option<&LinkedBlock<T>> {
        self.blocks.get(slot)
    }

    pub(super) fn note_mut(&mut self, slot: SlabIndex) -> &mut T {
        &mut self.blocks[slot].note
    }

    /// All blocks, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &LinkedBlock<T>> {
        self.blocks.iter()
    }

    /// A block and those after it in its segment, as long as they belong.
    pub(super) fn run(
        &self,
        first: SlabIndex,
        belongs: impl Fn(&LinkedBlock<T>) -> bool,
    ) -> impl Iterator<Item = SlabIndex> {
        let next = move |slot: &SlabIndex| self.blocks[*slot].next;
        let belongs = move |slot: &SlabIndex| belongs(&self.blocks[*slot]);
        std::iter::successors(Some(first), next).take_while(belongs)
    }

    /// The first block of each longest run of neighbours that belong, in no order.
    pub(super) fn heads(
        &self,
        belongs: impl Fn(&LinkedBlock<T>) -> bool,
    ) -> impl Iterator<Item = SlabIndex> {
        let heads = self.blocks.entries().filter(move |(_, block)| {
            let follows = block.previous.is_some_and(|previous| belongs(&self.blocks[previous]));
            belongs(block) && !follows
        });
        heads.map(|(slot, _)| slot)
    }
}

impl<T> Default for BlockList<T> {
    fn default() -> Self {
        BlockList { blocks: Slab::default() }
    }
}

impl<T> Index<SlabIndex> for BlockList<T> {
    type Output = LinkedBlock<T>;

    fn index(&self, slot: SlabIndex) -> &LinkedBlock<T> {
        &self.blocks[slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses, sizes and notes of a segment, which is linked in both directions.
    fn segment(list: &BlockList<char>, first: SlabIndex) -> Vec<(u64, u64, char)> {
        let slots: Vec<_> = list.run(first, |_| true).collect();
        for pair in slots.windows(2) {
            assert_eq!(list[pair[1]].previous(), Some(pair[0]));
            assert_eq!(list[pair[0]].end(), list[pair[1]].address().0);
        }
        let blocks = slots.iter().map(|slot| &list[*slot]);
        blocks.map(|block| (block.address.0, block.bytes, block.note)).collect()
    }

    #[test]
    fn blocks_are_split_and_joined_in_place() {
        let mut list = BlockList::default();
        let first = list.add_segment(Address(100), 60, 'a');
        assert!(list[first].is_whole_segment());
        let last = list.split(first, 40, 'c');
        let middle = list.split(first, 10, 'b');
        assert_eq!(segment(&list, first), [(100, 10, 'a'), (110, 30, 'b'), (140, 20, 'c')]);
        assert_eq!(list.absorb_next(middle), 'c');
        assert!(list.get(last).is_none());
        assert_eq!(list.absorb_next(first), 'b');
        assert_eq!(segment(&list, first), [(100, 60, 'a')]);
        assert_eq!(list.remove_segment(first).bytes, 60);
    }

    #[test]
    fn a_run_ends_where_a_block_does_not_belong() {
        let mut list = BlockList::default();
        let first = list.add_segment(Address(0), 4, 'x');
        let last = list.split(first, 3, 'x');
        let hole = list.split(first, 2, '-');
        let second = list.split(first, 1, 'x');
        let is_x = |block: &LinkedBlock<char>| block.note == 'x';
        let mut heads: Vec<_> = list.heads(is_x).collect();
        heads.sort();
        assert_eq!(heads, [first, last]);
        assert_eq!(list.run(first, is_x).collect::<Vec<_>>(), [first, second]);
        assert_eq!(list.run(hole, is_x).count(), 0);
        assert_eq!(list.iter().map(|block| block.bytes).sum::<u64>(), 4);
    }
}
