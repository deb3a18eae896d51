//! The choice of a place for a request.

use std::ops::Range;

use super::arena::ArenaId;
use super::heap::SpanHeap;
use super::pages::{newly_taken, touched};
use super::span::SpanState;
use crate::policy::StreamName;
use crate::policy::slab::SlabIndex;

/// A place in free space where memory is missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placement {
    /// The first span of the free space.
    pub(super) first: SlabIndex,
    pub(super) address: u64,
    /// The pages where nothing is mapped.
    pub(super) missing: u64,
}

/// A free block for `bytes` among the memory of other streams, of the same pool if there is one, and
/// an address in it; the smallest of those that each of them would give. Graphs have none.
pub(super) fn free_block_elsewhere<K: StreamName>(
    heap: &SpanHeap<K>,
    arena: ArenaId,
    bytes: u64,
) -> Option<(SlabIndex, u64)> {
    if heap.is_kept(arena) {
        return None;
    }
    let (pool, among) = (heap.arena(arena).pool, heap.pool_in_use(arena));
    let others = heap.arena_ids().filter(|other| {
        *other != arena && heap.arena(*other).pool == pool && heap.pool_in_use(*other) == among
    });
    let free_blocks = others.filter_map(|other| heap.caches.free_block_for(other, bytes));
    free_blocks.min_by_key(|(slot, _)| heap.caches[*slot].bytes)
}

/// The smallest free block for a request of an arena among all memory that it may have.
pub(super) fn free_block_anywhere<K: StreamName>(
    heap: &SpanHeap<K>,
    arena: ArenaId,
    bytes: u64,
) -> Option<(SlabIndex, u64)> {
    let free_blocks = heap.arenas_that_serve(arena).flat_map(|one| {
        let free_blocks = heap.arena(one).free_blocks.all_at_least(heap.caches.of(one), bytes);
        free_blocks.map(|free_block| (free_block, heap.caches[free_block].address))
    });
    free_blocks.min_by_key(|(free_block, address)| (heap.caches[*free_block].bytes, *address))
}

/// The place that the fewest pages are missing at, among all addresses that a request of an arena
/// may have; of several, the one at its own.
pub(super) fn best_place<K: StreamName>(
    heap: &SpanHeap<K>,
    arena: ArenaId,
    bytes: u64,
) -> Option<(ArenaId, Placement)> {
    let places = heap.arenas_that_serve(arena);
    let places = places.filter_map(|one| Some((one, place_for(heap, one, bytes)?)));
    places.min_by_key(|(_, place)| place.missing)
}

/// The place for `bytes` where the fewest pages are missing, and of those the one where the block
/// takes the fewest new ones, and then the lowest.
pub(super) fn place_for<K: StreamName>(
    heap: &SpanHeap<K>,
    arena: ArenaId,
    bytes: u64,
) -> Option<Placement> {
    let mut best: Option<((u64, u64, u64), Placement)> = None;
    let mut done = 0;
    for (address, slot) in &heap.arena(arena).vacant {
        // Vacant spans of one free space have the same candidates: one look at it is enough.
        if *address < done {
            continue;
        }
        let first = first_free_before(heap, *slot);
        let (space, free_blocks) = free_space(heap, first);
        done = space.end;
        for start in candidates(&space, &free_blocks, bytes) {
            let block = start..start + bytes;
            let mapped = free_blocks.iter().map(|free| overlap(free, &block)).sum::<u64>();
            let pages = touched(block.start, block.end);
            // Free blocks begin and end within pages only where held memory does.
            let missing = pages.end - pages.start - mapped;
            // Missing pages cost calls to the driver and perhaps other blocks' pages. Among equals, a
            // block that begins in a page which is held in part already makes fewer pages immovable.
            let cost = (missing, newly_taken(&space, &block), start);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, Placement { first, address: start, missing }));
            }
        }
    }
    best.map(|(_, place)| place)
}

/// The first span of the free space that a free span is part of.
fn first_free_before<K: StreamName>(heap: &SpanHeap<K>, mut slot: SlabIndex) -> SlabIndex {
    while let Some(previous) = heap.caches[slot].previous
        && heap.caches[previous].is_placeable()
    {
        slot = previous;
    }
    slot
}

/// The free space that begins with a span, and the free blocks in it.
fn free_space<K: StreamName>(
    heap: &SpanHeap<K>,
    first: SlabIndex,
) -> (Range<u64>, Vec<Range<u64>>) {
    let start = heap.caches[first].address;
    let (mut end, mut free_blocks) = (start, Vec::new());
    for (_, span) in heap.caches.from(first).take_while(|(_, span)| span.is_placeable()) {
        if span.state == SpanState::Free {
            free_blocks.push(span.address..span.end());
        }
        end = span.end();
    }
    (start..end, free_blocks)
}

/// The addresses at which a block may begin so that it uses an edge of the free space or of a free block.
fn candidates<'a>(
    space: &Range<u64>,
    free_blocks: &'a [Range<u64>],
    bytes: u64,
) -> impl Iterator<Item = u64> + 'a {
    // The best place is among these: from between two of them a block can slide to one without touching
    // more pages where memory is missing. The tests' checker of certificates tries every address.
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
