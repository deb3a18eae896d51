//! Pieces of which nobody holds anything, in the order in which they move.

use std::collections::VecDeque;
use std::ops::Range;

use super::Stitched;
use super::arena::ArenaId;
use super::pages::{PAGE, whole};
use super::supply::MOST_PAGES;
use crate::policy::StreamName;
use crate::policy::slab::Slot;

/// The pieces that may move, from the hole on that nobody has used for longest.
#[derive(Debug)]
pub(super) struct Movable {
    /// The pages of all of them.
    pub(super) pages: u64,
    /// The holes that were not looked into yet, the last freed first: they are taken from the end.
    holes: Vec<Run>,
    /// By pages less one, pieces that were found while others were wanted, first to last.
    found: [VecDeque<Free>; MOST_PAGES as usize],
}

/// A run of whole pieces in a hole.
#[derive(Debug)]
struct Run {
    freed: u64,
    arena: ArenaId,
    hole: Slot,
    pages: Range<u64>,
}

/// A piece that may move.
#[derive(Debug, Clone, Copy)]
pub(super) struct Free {
    pub(super) piece: Slot,
    /// A span of its region that is not after it, if it is mapped.
    pub(super) near: Option<Slot>,
}

impl<K: StreamName> Stitched<K> {
    /// Every piece that may move to an arena, but for those that are at pages of the place there; of
    /// other pools only where it takes any.
    ///
    /// To an arena of graphs those may that no work uses any more.
    pub(super) fn movable(&self, to: ArenaId, place: &Range<u64>, takes_any: bool) -> Movable {
        let (is_kept, among) = (self.is_kept(to), self.pool_in_use(to));
        let mut found = <[VecDeque<Free>; MOST_PAGES as usize]>::default();
        for piece in &self.spare {
            let free = Free { piece: *piece, near: None };
            found[self.pieces[*piece].pages as usize - 1].push_back(free);
        }
        let mut holes: Vec<Run> = self
            .free_pieces()
            .filter(|(from, hole, _)| {
                (takes_any || self.pool_in_use(*from) == among) && (!is_kept || self.is_over(*hole))
            })
            .flat_map(|(arena, hole, pages)| {
                let [before, after] = self.outside(arena, &pages, place);
                let freed = self.spans[hole].freed;
                [before, after].map(|pages| Run { freed, arena, hole, pages })
            })
            .filter(|run| !run.pages.is_empty())
            .collect();
        holes.sort_unstable_by_key(|run| (std::cmp::Reverse(run.freed), run.pages.start));
        let mapped = holes.iter().map(|run| run.pages.end - run.pages.start).sum::<u64>();
        let spare = self.spare.iter().map(|piece| self.pieces[*piece].pages).sum::<u64>();
        Movable { pages: mapped + spare, holes, found }
    }

    /// The whole pieces among some that touch none of the pages of a place.
    fn outside(&self, arena: ArenaId, pages: &Range<u64>, place: &Range<u64>) -> [Range<u64>; 2] {
        if pages.end <= place.start || place.end <= pages.start {
            return [pages.clone(), 0..0];
        }
        let before = match place.start > pages.start {
            true => pages.start..self.pages_of_piece_at(arena, place.start).start,
            false => 0..0,
        };
        let after = match place.end < pages.end {
            true => self.pages_of_piece_at(arena, place.end - 1).end..pages.end,
            false => 0..0,
        };
        [before, after]
    }

    /// The pages of the piece that is mapped at a page.
    fn pages_of_piece_at(&self, arena: ArenaId, page: u64) -> Range<u64> {
        let piece = self.arena(arena).piece_at(page).expect("the page is mapped");
        let (_, start) = self.pieces[piece].home.expect("the piece is mapped");
        start..start + self.pieces[piece].pages
    }

    /// Each hole that graphs do not keep, with the pages of its whole pieces.
    pub(super) fn free_pieces(&self) -> impl Iterator<Item = (ArenaId, Slot, Range<u64>)> {
        let arenas = self.arena_ids().filter(|id| !self.is_kept(*id));
        arenas.flat_map(move |id| {
            let holes = self.arena(id).holes.all_at_least(self.spans.of(id), PAGE);
            holes.map(move |hole| (id, hole, self.whole_pieces(id, hole)))
        })
    }

    /// The pages of a hole that whole pieces take; they are in one run.
    fn whole_pieces(&self, arena: ArenaId, hole: Slot) -> Range<u64> {
        let span = &self.spans[hole];
        let pages = whole(span.address, span.end());
        match pages.is_empty() {
            true => pages,
            false => self.arena(arena).region_of(pages.start).whole_pieces(pages),
        }
    }
}

impl Movable {
    /// The next piece: the largest of at most `wanted` pages, or else the smallest of at most
    /// `room`.
    pub(super) fn next<K: StreamName>(
        &mut self,
        policy: &Stitched<K>,
        wanted: u64,
        room: u64,
    ) -> Option<Free> {
        let best = wanted.min(MOST_PAGES) as usize;
        while self.found[best - 1].is_empty()
            && let Some(run) = self.holes.pop()
        {
            self.look_into(policy, run);
        }
        let room = room.min(MOST_PAGES) as usize;
        let mut sizes = (1..=best).rev().chain(best + 1..=room);
        sizes.find_map(|pages| self.found[pages - 1].pop_front())
    }

    /// Finds the pieces of a run.
    fn look_into<K: StreamName>(&mut self, policy: &Stitched<K>, run: Run) {
        let region = policy.arena(run.arena).region_of(run.pages.start);
        let mut page = run.pages.start;
        while page < run.pages.end {
            let piece = region.piece_at(page).expect("the page is mapped");
            let pages = policy.pieces[piece].pages;
            let free = Free { piece, near: Some(run.hole) };
            self.found[pages as usize - 1].push_back(free);
            page += pages;
        }
    }
}
