//! The free blocks of one pool, in the order in which they are searched.

use std::collections::BTreeSet;

use crate::policy::slab::Slot;
use crate::policy::{Address, StreamId};

/// A free block as the search sees it: by stream, then size, then address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FreeBlock {
    pub(super) stream: StreamId,
    pub(super) bytes: u64,
    pub(super) address: Address,
    pub(super) slot: Slot,
    /// Whether the rest of its segment is in use, so that it cannot be released. Last, as it decides no order.
    pub(super) split: bool,
}

#[derive(Debug, Default)]
pub(super) struct FreeSet {
    blocks: BTreeSet<FreeBlock>,
    split_blocks: u64,
    split_bytes: u64,
}

impl FreeSet {
    pub(super) fn insert(&mut self, block: FreeBlock) {
        if block.split {
            self.split_blocks += 1;
            self.split_bytes += block.bytes;
        }
        self.blocks.insert(block);
    }

    pub(super) fn remove(&mut self, block: FreeBlock) {
        let found = self.blocks.remove(&block);
        debug_assert!(found, "a free block is removed as it was inserted");
        if block.split {
            self.split_blocks -= 1;
            self.split_bytes -= block.bytes;
        }
    }

    /// The smallest block of the stream that has `bytes`, the one with the lowest address among equals.
    pub(super) fn best_fit(&self, stream: StreamId, bytes: u64) -> Option<FreeBlock> {
        let least =
            FreeBlock { stream, bytes, address: Address(0), slot: Slot::FIRST, split: false };
        self.blocks.range(least..).next().filter(|block| block.stream == stream).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FreeBlock> {
        self.blocks.iter()
    }

    /// How many free blocks are in segments that are partly in use, and their bytes.
    pub(super) fn split(&self) -> (u64, u64) {
        (self.split_blocks, self.split_bytes)
    }
}
