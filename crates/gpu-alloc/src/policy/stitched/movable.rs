//! Chunks of which nobody holds anything, in the order in which they move.

use std::collections::VecDeque;
use std::ops::Range;

use super::Stitched;
use super::arena::ArenaId;
use super::pages::{PAGE, whole};
use super::supply::MOST_PAGES;
use crate::policy::StreamName;
use crate::policy::slab::Slot;

/// The chunks that may move, from the free block on that nobody has used for longest.
#[derive(Debug)]
pub(super) struct Movable {
    /// The pages of all of them.
    pub(super) pages: u64,
    /// The free blocks that were not looked into yet, the last freed first: they are taken from the end.
    free_blocks: Vec<Run>,
    /// By pages less one, chunks that were found while others were wanted, first to last.
    found: [VecDeque<Free>; MOST_PAGES as usize],
}

/// A run of whole chunks in a free block.
#[derive(Debug)]
struct Run {
    freed: u64,
    arena: ArenaId,
    free_block: Slot,
    pages: Range<u64>,
}

/// A chunk that may move.
#[derive(Debug, Clone, Copy)]
pub(super) struct Free {
    pub(super) chunk: Slot,
    /// A span of its region that is not after it, if it is mapped.
    pub(super) near: Option<Slot>,
}

impl<K: StreamName> Stitched<K> {
    /// Every chunk that may move to an arena, but for those that are at pages of the place there; of
    /// other pools only where it takes any.
    ///
    /// To an arena of graphs those may that no work uses any more.
    pub(super) fn movable(&self, to: ArenaId, place: &Range<u64>, takes_any: bool) -> Movable {
        let (is_kept, among) = (self.is_kept(to), self.pool_in_use(to));
        let mut found = <[VecDeque<Free>; MOST_PAGES as usize]>::default();
        for chunk in &self.spare {
            let free = Free { chunk: *chunk, near: None };
            found[self.chunks[*chunk].pages as usize - 1].push_back(free);
        }
        let mut free_blocks: Vec<Run> = self
            .free_chunks()
            .filter(|(from, free_block, _)| {
                (takes_any || self.pool_in_use(*from) == among)
                    && (!is_kept || self.is_over(*free_block))
            })
            .flat_map(|(arena, free_block, pages)| {
                let [before, after] = self.outside(arena, &pages, place);
                let freed = self.spans[free_block].freed;
                [before, after].map(|pages| Run { freed, arena, free_block, pages })
            })
            .filter(|run| !run.pages.is_empty())
            .collect();
        free_blocks.sort_unstable_by_key(|run| (std::cmp::Reverse(run.freed), run.pages.start));
        let mapped = free_blocks.iter().map(|run| run.pages.end - run.pages.start).sum::<u64>();
        let spare = self.spare.iter().map(|chunk| self.chunks[*chunk].pages).sum::<u64>();
        Movable { pages: mapped + spare, free_blocks, found }
    }

    /// The whole chunks among some that touch none of the pages of a place.
    fn outside(&self, arena: ArenaId, pages: &Range<u64>, place: &Range<u64>) -> [Range<u64>; 2] {
        if pages.end <= place.start || place.end <= pages.start {
            return [pages.clone(), 0..0];
        }
        let before = match place.start > pages.start {
            true => pages.start..self.pages_of_chunk_at(arena, place.start).start,
            false => 0..0,
        };
        let after = match place.end < pages.end {
            true => self.pages_of_chunk_at(arena, place.end - 1).end..pages.end,
            false => 0..0,
        };
        [before, after]
    }

    /// The pages of the chunk that is mapped at a page.
    fn pages_of_chunk_at(&self, arena: ArenaId, page: u64) -> Range<u64> {
        let chunk = self.arena(arena).chunk_at(page).expect("the page is mapped");
        let (_, start) = self.chunks[chunk].home.expect("the chunk is mapped");
        start..start + self.chunks[chunk].pages
    }

    /// Each free block that graphs do not keep, with the pages of its whole chunks.
    pub(super) fn free_chunks(&self) -> impl Iterator<Item = (ArenaId, Slot, Range<u64>)> {
        let arenas = self.arena_ids().filter(|id| !self.is_kept(*id));
        arenas.flat_map(move |id| {
            let free_blocks = self.arena(id).free_blocks.all_at_least(self.spans.of(id), PAGE);
            free_blocks.map(move |free_block| (id, free_block, self.whole_chunks(id, free_block)))
        })
    }

    /// The pages of a free block that whole chunks take; they are in one run.
    fn whole_chunks(&self, arena: ArenaId, free_block: Slot) -> Range<u64> {
        let span = &self.spans[free_block];
        let pages = whole(span.address, span.end());
        match pages.is_empty() {
            true => pages,
            false => self.arena(arena).region_of(pages.start).whole_chunks(pages),
        }
    }
}

impl Movable {
    /// The next chunk: the largest of at most `wanted` pages, or else the smallest of at most
    /// `room`.
    pub(super) fn next<K: StreamName>(
        &mut self,
        policy: &Stitched<K>,
        wanted: u64,
        room: u64,
    ) -> Option<Free> {
        let best = wanted.min(MOST_PAGES) as usize;
        while self.found[best - 1].is_empty()
            && let Some(run) = self.free_blocks.pop()
        {
            self.look_into(policy, run);
        }
        let room = room.min(MOST_PAGES) as usize;
        let mut sizes = (1..=best).rev().chain(best + 1..=room);
        sizes.find_map(|pages| self.found[pages - 1].pop_front())
    }

    /// Finds the chunks of a run.
    fn look_into<K: StreamName>(&mut self, policy: &Stitched<K>, run: Run) {
        let region = policy.arena(run.arena).region_of(run.pages.start);
        let mut page = run.pages.start;
        while page < run.pages.end {
            let chunk = region.chunk_at(page).expect("the page is mapped");
            let pages = policy.chunks[chunk].pages;
            let free = Free { chunk, near: Some(run.free_block) };
            self.found[pages as usize - 1].push_back(free);
            page += pages;
        }
    }
}
