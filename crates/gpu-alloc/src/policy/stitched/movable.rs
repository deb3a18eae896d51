//! Chunks of which nobody holds anything, in the order in which they move.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

use super::arena::ArenaId;
use super::chunk::ChunkStore;
use super::heap::SpanHeap;
use super::pages::MAX_CHUNK_PAGES;
use crate::policy::StreamName;
use crate::policy::slab::SlabIndex;

/// The chunks that may move, from the free block on that nobody has used for longest.
#[derive(Debug)]
pub(super) struct Movable {
    /// The pages of all of them.
    pages: u64,
    /// The free blocks that were not looked into yet, the last freed first: they are taken from the
    /// end.
    free_blocks: Vec<ChunkRun>,
    /// Chunks that were found while others were wanted, by their number of pages less one, first to
    /// last.
    found: [VecDeque<FreeChunk>; MAX_CHUNK_PAGES as usize],
}

/// A run of whole chunks in a free block.
#[derive(Debug)]
struct ChunkRun {
    freed: u64,
    arena: ArenaId,
    free_block: SlabIndex,
    pages: Range<u64>,
}

/// A chunk that may move.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreeChunk {
    pub(super) chunk: SlabIndex,
    /// A span of its region that is not after it, if it is mapped.
    pub(super) near: Option<SlabIndex>,
}

impl Movable {
    /// Every chunk that may move to an arena, but for those that are at pages of the place there; of
    /// other pools only where it takes any.
    ///
    /// To an arena of graphs those may that no work uses any more.
    pub(super) fn of<K: StreamName>(
        heap: &SpanHeap<K>,
        chunks: &ChunkStore,
        to: ArenaId,
        place: &Range<u64>,
        takes_any: bool,
    ) -> Movable {
        let (is_kept, among) = (heap.is_kept(to), heap.pool_in_use(to));
        let mut found = <[VecDeque<FreeChunk>; MAX_CHUNK_PAGES as usize]>::default();
        for (chunk, pages) in chunks.spare() {
            found[pages as usize - 1].push_back(FreeChunk { chunk, near: None });
        }
        let may_move = |(from, free_block, _): &(ArenaId, SlabIndex, _)| {
            (takes_any || heap.pool_in_use(*from) == among)
                && (!is_kept || heap.is_over(*free_block))
        };
        let runs = heap.free_chunks().filter(may_move).flat_map(|(arena, free_block, pages)| {
            let [before, after] = outside(heap, chunks, arena, &pages, place);
            let freed = heap.caches[free_block].freed;
            [before, after].map(|pages| ChunkRun { freed, arena, free_block, pages })
        });
        let mut free_blocks: Vec<_> = runs.filter(|run| !run.pages.is_empty()).collect();
        free_blocks.sort_unstable_by_key(|run| (Reverse(run.freed), run.pages.start));
        let mapped = free_blocks.iter().map(|run| run.pages.end - run.pages.start).sum::<u64>();
        let spare = chunks.spare().map(|(_, pages)| pages).sum::<u64>();
        Movable { pages: mapped + spare, free_blocks, found }
    }

    /// The pages of all of them together.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// The next chunk: the largest of at most `wanted` pages, or else the smallest of at most
    /// `room`.
    pub(super) fn next<K: StreamName>(
        &mut self,
        heap: &SpanHeap<K>,
        chunks: &ChunkStore,
        wanted: u64,
        room: u64,
    ) -> Option<FreeChunk> {
        let best = wanted.min(MAX_CHUNK_PAGES) as usize;
        while self.found[best - 1].is_empty()
            && let Some(run) = self.free_blocks.pop()
        {
            self.look_into(heap, chunks, run);
        }
        let room = room.min(MAX_CHUNK_PAGES) as usize;
        let mut sizes = (1..=best).rev().chain(best + 1..=room);
        sizes.find_map(|pages| self.found[pages - 1].pop_front())
    }

    /// Finds the chunks of a run.
    fn look_into<K: StreamName>(&mut self, heap: &SpanHeap<K>, chunks: &ChunkStore, run: ChunkRun) {
        let region = heap.arena(run.arena).region_of(run.pages.start);
        let mut page = run.pages.start;
        while page < run.pages.end {
            let chunk = region.chunk_at(page).expect("the page is mapped");
            let pages = chunks.get(chunk).pages;
            let free = FreeChunk { chunk, near: Some(run.free_block) };
            self.found[pages as usize - 1].push_back(free);
            page += pages;
        }
    }
}

/// The whole chunks among some that touch none of the pages of a place.
fn outside<K: StreamName>(
    heap: &SpanHeap<K>,
    chunks: &ChunkStore,
    arena: ArenaId,
    pages: &Range<u64>,
    place: &Range<u64>,
) -> [Range<u64>; 2] {
    if pages.end <= place.start || place.end <= pages.start {
        return [pages.clone(), 0..0];
    }
    let chunk_at = |page: u64| {
        let chunk = heap.arena(arena).chunk_at(page).expect("the page is mapped");
        let chunk = chunks.get(chunk);
        let (_, start) = chunk.mapped_at.expect("the chunk is mapped");
        start..start + chunk.pages
    };
    let before = match place.start > pages.start {
        true => pages.start..chunk_at(place.start).start,
        false => 0..0,
    };
    let after = match place.end < pages.end {
        true => chunk_at(place.end - 1).end..pages.end,
        false => 0..0,
    };
    [before, after]
}
