//! Where a request is placed.

use std::ops::Range;

use super::Stitched;
use super::arena::ArenaId;
use super::pages::{newly_taken, touched};
use super::span::SpanState;
use super::stream_cache::StreamCache;
use crate::policy::StreamName;
use crate::policy::slab::Slot;

/// From this size on, a block does not take a free block that is much too large only because the others
/// are larger still.
const LARGE: u64 = 64 << 20;

/// A place in free space where memory is missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placement {
    /// The first span of the free space.
    pub(super) first: Slot,
    pub(super) address: u64,
    /// The pages where nothing is mapped.
    pub(super) missing: u64,
}

impl<K: StreamName> StreamCache<K> {
    /// About the smallest free block for `bytes`, and its first address. For a large block that no free block
    /// fits, the lowest one: so the memory at high addresses stays free in one chunk, for the largest.
    ///
    /// A block that grows is allocated anew before the old one is freed. Where there are many, as
    /// in caches of keys and values, each moves into what the one before has left. From the first
    /// address on they stay close together; at the other end, each would leave a gap.
    #[inline]
    pub(super) fn free_block_for(&self, arena: ArenaId, bytes: u64) -> Option<(Slot, u64)> {
        let mut slot = self.arena(arena).free_blocks.smallest(&self.spans, bytes)?;
        if bytes >= LARGE && !fits(bytes, self.spans[slot].bytes) {
            slot = self.lowest_free_block(arena, bytes)?;
        }
        Some((slot, self.spans[slot].address))
    }

    /// The first of the free blocks that are large enough; to be asked for large blocks, as of their size
    /// there are few.
    fn lowest_free_block(&self, arena: ArenaId, bytes: u64) -> Option<Slot> {
        let free_blocks = self.arena(arena).free_blocks.all_at_least(&self.spans, bytes);
        free_blocks.min_by_key(|slot| self.spans[*slot].address)
    }
}

impl<K: StreamName> Stitched<K> {
    /// A free block for `bytes` among the memory of other streams, of the same pool if there is one, and an
    /// address in it; the smallest of those that each of them would give. Graphs have none.
    pub(super) fn free_block_elsewhere(&self, arena: ArenaId, bytes: u64) -> Option<(Slot, u64)> {
        if self.is_kept(arena) {
            return None;
        }
        let (pool, among) = (self.arena(arena).pool, self.pool_in_use(arena));
        let others = self.arena_ids().filter(|other| {
            *other != arena && self.arena(*other).pool == pool && self.pool_in_use(*other) == among
        });
        let free_blocks = others.filter_map(|other| self.free_block_for(other, bytes));
        free_blocks.min_by_key(|(slot, _)| self.spans[*slot].bytes)
    }

    /// The place for `bytes` where the fewest pages are missing, and of those the one where the
    /// block takes the fewest new ones, and then the lowest.
    pub(super) fn place_for(&self, arena: ArenaId, bytes: u64) -> Option<Placement> {
        let mut best: Option<((u64, u64, u64), Placement)> = None;
        let mut done = 0;
        for (address, slot) in &self.arena(arena).vacant {
            if *address < done {
                continue;
            }
            let first = self.first_free_before(*slot);
            let (space, free_blocks) = self.free_space(first);
            done = space.end;
            for start in candidates(&space, &free_blocks, bytes) {
                let block = start..start + bytes;
                let mapped =
                    free_blocks.iter().map(|free_block| overlap(free_block, &block)).sum::<u64>();
                let pages = touched(block.start, block.end);
                // Free blocks begin and end within pages only where held memory does.
                let missing = pages.end - pages.start - mapped;
                let cost = (missing, newly_taken(&space, &block), start);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, Placement { first, address: start, missing }));
                }
            }
        }
        best.map(|(_, place)| place)
    }

    /// The first span of the free space that a free span is part of.
    fn first_free_before(&self, mut slot: Slot) -> Slot {
        while let Some(previous) = self.spans[slot].previous
            && self.spans[previous].is_placeable()
        {
            slot = previous;
        }
        slot
    }

    /// The free space that begins with a span, and the free blocks in it.
    fn free_space(&self, first: Slot) -> (Range<u64>, Vec<Range<u64>>) {
        let start = self.spans[first].address;
        let (mut end, mut free_blocks) = (start, Vec::new());
        for (_, span) in self.spans.from(first).take_while(|(_, span)| span.is_placeable()) {
            if span.state == SpanState::Free {
                free_blocks.push(span.address..span.end());
            }
            end = span.end();
        }
        (start..end, free_blocks)
    }
}

/// Whether a block leaves little of a free block: two fifths of its own size at most.
fn fits(bytes: u64, free_block: u64) -> bool {
    free_block - bytes <= bytes / 5 * 2
}

/// Where a block may begin so that it uses an edge of the free space or of a free block.
fn candidates<'a>(
    space: &Range<u64>,
    free_blocks: &'a [Range<u64>],
    bytes: u64,
) -> impl Iterator<Item = u64> + 'a {
    let space = space.clone();
    let edges = std::iter::once(space.clone()).chain(free_blocks.iter().cloned());
    let starts = edges.flat_map(move |edge| [Some(edge.start), edge.end.checked_sub(bytes)]);
    starts.flatten().filter(move |start| {
        *start >= space.start && start.checked_add(bytes).is_some_and(|end| end <= space.end)
    })
}

/// The pages of a block in which a free block has memory.
fn overlap(free_block: &Range<u64>, block: &Range<u64>) -> u64 {
    let (start, end) = (free_block.start.max(block.start), free_block.end.min(block.end));
    if start >= end {
        return 0;
    }
    let pages = touched(start, end);
    pages.end - pages.start
}
