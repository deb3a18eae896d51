//! What is tried once the source has refused.

use super::Stitched;
use super::arena::ArenaId;
use super::pages::touched;
use super::placement::Placement;
use crate::policy::slab::Slot;
use crate::policy::source::Unable;
use crate::policy::{MemorySource, StreamName};

impl<K: StreamName> Stitched<K> {
    /// Makes a free block for `bytes` after the source refused pages for the best place; returns it with
    /// the address in it.
    ///
    /// Any free block will do now, whoseever addresses it has. If there is none, all free chunks go back
    /// that may, and serve as single pages then: a free chunk at a place is of no use to a better one,
    /// nor is one that is too large for a gap. With none of those left, the best place is the one
    /// that the fewest pages are missing at, whoseever addresses it has. The refusal is final but for
    /// chunks which are free, and which work still uses.
    pub(super) fn reclaim<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<(Slot, u64), Unable<S::Error>> {
        if let Some(free_block) = self.free_block_anywhere(arena, bytes) {
            return Ok(free_block);
        }
        self.release_chunks(source);
        self.statistics.num_alloc_retries += 1;
        let (owner, place) = match self.best_place(arena, bytes) {
            Some(best) => best,
            None => (arena, self.new_place(source, arena, bytes)?),
        };
        self.map_place(source, owner, place, bytes)
    }

    /// The smallest free block for a request of an arena among all memory that it may have.
    fn free_block_anywhere(&self, arena: ArenaId, bytes: u64) -> Option<(Slot, u64)> {
        let free_blocks = self.arenas_that_serve(arena).flat_map(|one| {
            let free_blocks = self.arena(one).free_blocks.all_at_least(self.spans.of(one), bytes);
            free_blocks.map(|free_block| (free_block, self.spans[free_block].address))
        });
        free_blocks.min_by_key(|(free_block, address)| (self.spans[*free_block].bytes, *address))
    }

    /// The place that the fewest pages are missing at, among all addresses that a request of an arena
    /// may have; of several, the one at its own.
    pub(super) fn best_place(&self, arena: ArenaId, bytes: u64) -> Option<(ArenaId, Placement)> {
        let places = self.arenas_that_serve(arena);
        let places = places.filter_map(|one| Some((one, self.place_for(one, bytes)?)));
        places.min_by_key(|(_, place)| place.missing)
    }

    /// The pages that could be brought to a place of an arena without the source.
    pub(super) fn supply_at(&self, arena: ArenaId, place: Placement, bytes: u64) -> u64 {
        self.movable(arena, &touched(place.address, place.address + bytes), true).pages
    }

    /// The arenas whose memory and addresses a request of one of them may have when there is nothing
    /// else, its own first: those of its pool and stream, or all that no graphs keep.
    pub(super) fn arenas_that_serve(&self, arena: ArenaId) -> impl Iterator<Item = ArenaId> {
        let (is_apart, home) = (self.is_kept(arena), self.arena(arena).home);
        let others = self.arena_ids().filter(move |other| *other != arena);
        let serves = move |other: &ArenaId| match is_apart {
            true => self.arena(*other).home == home,
            false => !self.is_kept(*other),
        };
        std::iter::once(arena).chain(others.filter(serves))
    }
}
