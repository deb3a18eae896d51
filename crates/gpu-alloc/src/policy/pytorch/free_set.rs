//! The free blocks of one pool, in the order in which they are searched.

use std::collections::BTreeSet;

use crate::policy::slab::Slot;
use crate::policy::{Address, StreamAndPool, StreamName};

/// A free block as the search sees it: by home, then size, then address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FreeBlock<K> {
    pub(super) home: StreamAndPool<K>,
    pub(super) bytes: u64,
    pub(super) address: Address,
    pub(super) slot: Slot,
    /// Whether the rest of its segment is in use, so that it cannot be released. Never so for a
    /// block of mapped pages. Last, as it decides no order.
    pub(super) split: bool,
}

impl<K> FreeBlock<K> {
    /// Orders before all blocks of the home that have `bytes`, and after all that have less.
    fn least(home: StreamAndPool<K>, bytes: u64) -> Self {
        FreeBlock { home, bytes, address: Address(0), slot: Slot::FIRST, split: false }
    }
}

#[derive(Debug)]
pub(super) struct FreeSet<K> {
    blocks: BTreeSet<FreeBlock<K>>,
    split_blocks: u64,
    split_bytes: u64,
}

impl<K: StreamName> FreeSet<K> {
    pub(super) fn insert(&mut self, block: FreeBlock<K>) {
        if block.split {
            self.split_blocks += 1;
            self.split_bytes += block.bytes;
        }
        self.blocks.insert(block);
    }

    pub(super) fn remove(&mut self, block: FreeBlock<K>) {
        let found = self.blocks.remove(&block);
        debug_assert!(found, "a free block is removed as it was inserted");
        if block.split {
            self.split_blocks -= 1;
            self.split_bytes -= block.bytes;
        }
    }

    /// The blocks of the home that have `bytes`, the smallest first, and the one with the lowest
    /// address among equals.
    pub(super) fn fits(
        &self,
        home: StreamAndPool<K>,
        bytes: u64,
    ) -> impl Iterator<Item = &FreeBlock<K>> {
        let fits = self.blocks.range(FreeBlock::least(home, bytes)..);
        fits.take_while(move |block| block.home == home)
    }

    /// The blocks of the home that have less, the largest first.
    pub(super) fn too_small(
        &self,
        home: StreamAndPool<K>,
        bytes: u64,
    ) -> impl Iterator<Item = &FreeBlock<K>> {
        let rest = self.blocks.range(..FreeBlock::least(home, bytes)).rev();
        rest.take_while(move |block| block.home == home)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FreeBlock<K>> {
        self.blocks.iter()
    }

    /// How many free blocks are in segments that are partly in use, and their bytes.
    pub(super) fn split(&self) -> (u64, u64) {
        (self.split_blocks, self.split_bytes)
    }
}

impl<K> Default for FreeSet<K> {
    fn default() -> Self {
        FreeSet { blocks: BTreeSet::new(), split_blocks: 0, split_bytes: 0 }
    }
}
