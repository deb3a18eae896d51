//! The free blocks of one pool, in the order in which they are searched.

use std::collections::BTreeSet;

use crate::policy::slab::SlabIndex;
use crate::policy::{Address, StreamAndPool, StreamName};

/// A free block as the search sees it: by owner, then size, then address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FreeBlockKey<K> {
    pub(super) owner: StreamAndPool<K>,
    pub(super) bytes: u64,
    pub(super) address: Address,
    pub(super) slot: SlabIndex,
    /// Whether the rest of its segment is in use, so that it cannot be released. Never so for a
    /// block of mapped pages. Last, as it decides no order.
    pub(super) split: bool,
}

impl<K> FreeBlockKey<K> {
    /// Orders before all blocks of the owner that have `bytes`, and after all that have less.
    fn least(owner: StreamAndPool<K>, bytes: u64) -> Self {
        FreeBlockKey { owner, bytes, address: Address(0), slot: SlabIndex::FIRST, split: false }
    }
}

#[derive(Debug)]
pub(super) struct FreeSet<K> {
    blocks: BTreeSet<FreeBlockKey<K>>,
    split_blocks: u64,
    split_bytes: u64,
}

impl<K: StreamName> FreeSet<K> {
    pub(super) fn insert(&mut self, block: FreeBlockKey<K>) {
        if block.split {
            self.split_blocks += 1;
            self.split_bytes += block.bytes;
        }
        self.blocks.insert(block);
    }

    pub(super) fn remove(&mut self, block: FreeBlockKey<K>) {
        let found = self.blocks.remove(&block);
        debug_assert!(found, "a free block is removed as it was inserted");
        if block.split {
            self.split_blocks -= 1;
            self.split_bytes -= block.bytes;
        }
    }

    /// The blocks of the owner that have `bytes`, the smallest first, and the one with the lowest
    /// address among equals.
    pub(super) fn fits(
        &self,
        owner: StreamAndPool<K>,
        bytes: u64,
    ) -> impl Iterator<Item = &FreeBlockKey<K>> {
        let fits = self.blocks.range(FreeBlockKey::least(owner, bytes)..);
        fits.take_while(move |block| block.owner == owner)
    }

    /// The blocks of the owner that have less, the largest first.
    pub(super) fn too_small(
        &self,
        owner: StreamAndPool<K>,
        bytes: u64,
    ) -> impl Iterator<Item = &FreeBlockKey<K>> {
        let rest = self.blocks.range(..FreeBlockKey::least(owner, bytes)).rev();
        rest.take_while(move |block| block.owner == owner)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FreeBlockKey<K>> {
        self.blocks.iter()
    }

    /// The number of free blocks in segments that are partly in use, and their bytes.
    pub(super) fn split(&self) -> (u64, u64) {
        (self.split_blocks, self.split_bytes)
    }
}

impl<K> Default for FreeSet<K> {
    fn default() -> Self {
        FreeSet { blocks: BTreeSet::new(), split_blocks: 0, split_bytes: 0 }
    }
}
