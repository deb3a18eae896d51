//! Where pages come from that are missing at a place.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Stitched;
use super::arena::ArenaId;
use super::pages::{PAGE, whole};
use super::piece::Piece;
use super::uses::Uses;
use crate::policy::slab::Slot;
use crate::policy::source::KnownVirtualMemory;
use crate::policy::{MemorySource, Pool, Refusal, SourceError, StreamName};

/// The pages of a piece for large requests. More cost fewer calls to the driver; fewer are less
/// often held in part, when the rest cannot move.
const PIECE: u64 = 4;

/// How pages are found for one place.
#[derive(Debug)]
pub(super) struct Supply {
    /// How many may be made before any move.
    to_make: u64,
    /// The pieces that may move here, by size, and of one size the longest free first.
    movable: BTreeSet<Movable>,
    /// What the source said when it had none left.
    pub(super) refusal: Option<Refusal>,
}

/// A piece of which nobody holds anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Movable {
    pages: u64,
    freed: u64,
    pub(super) piece: Slot,
    /// A span of its region that is not after it.
    near: Option<Slot>,
}

impl Movable {
    fn of_pages(pages: u64) -> Movable {
        Movable { pages, freed: 0, piece: Slot::FIRST, near: None }
    }
}

/// A piece for a place, and the uses of it elsewhere that the place must come after.
pub(super) struct Supplied<K> {
    pub(super) piece: Slot,
    pub(super) uses: Uses<K>,
    pub(super) is_recycled: bool,
}

impl<K: StreamName> Stitched<K> {
    /// Plans how to find `missing` pages for a block of `bytes` at `place`.
    pub(super) fn plan(
        &self,
        arena: ArenaId,
        place: &Range<u64>,
        missing: u64,
        bytes: u64,
    ) -> Supply {
        if self.is_kept(arena) || self.is_generous(missing, bytes) {
            return Supply { to_make: missing, movable: BTreeSet::new(), refusal: None };
        }
        let movable = self.movable(place);
        let pages = movable.iter().map(|movable| movable.pages).sum::<u64>();
        Supply { to_make: missing.saturating_sub(pages), movable, refusal: None }
    }

    /// Every piece that may move, but for those that are at pages of the place.
    fn movable(&self, place: &Range<u64>) -> BTreeSet<Movable> {
        let spare = self.spare.iter().map(|piece| {
            let pages = self.pieces[*piece].pages;
            Movable { pages, freed: 0, piece: *piece, near: None }
        });
        let mapped = self.arena_ids().filter(|id| !self.is_kept(*id));
        let mapped = mapped.flat_map(|id| {
            let holes = self.arena(id).holes.all_at_least(&self.spans, PAGE);
            holes.flat_map(move |hole| self.movable_in(id, hole))
        });
        let mapped = mapped.filter(|movable| {
            let piece = &self.pieces[movable.piece];
            let at = piece.home.map_or(0, |(_, page)| page);
            at + piece.pages <= place.start || place.end <= at
        });
        spare.chain(mapped).collect()
    }

    /// The pieces that lie in a hole as a whole.
    pub(super) fn movable_in(&self, arena: ArenaId, slot: Slot) -> impl Iterator<Item = Movable> {
        let hole = &self.spans[slot];
        let pages = whole(hole.address, hole.end());
        let (freed, near) = (hole.freed, Some(slot));
        let mut page = pages.start;
        std::iter::from_fn(move || {
            while page < pages.end {
                let piece = self.arena(arena).piece_at(page)?;
                let Piece { pages: size, home, .. } = self.pieces[piece];
                let (_, at) = home?;
                page = at + size;
                if at >= pages.start && page <= pages.end {
                    return Some(Movable { pages: size, freed, piece, near });
                }
            }
            None
        })
    }

    /// A piece for `wanted` pages or fewer, or more where there is room.
    ///
    /// Nothing is mapped yet; where the piece was mapped, that place is stale from now on.
    pub(super) fn supply<S: MemorySource>(
        &mut self,
        source: &mut S,
        supply: &mut Supply,
        arena: ArenaId,
        place: &Range<u64>,
        wanted: u64,
        room: u64,
    ) -> Result<Option<Supplied<K>>, S::Error> {
        if supply.to_make > 0
            && let Some(made) = self.make_piece(source, supply, arena, wanted)?
        {
            return Ok(Some(made));
        }
        if let Some(moved) = self.move_piece(supply, arena, wanted, room) {
            return Ok(Some(moved));
        }
        if supply.refusal.is_none() {
            supply.to_make = wanted;
            return self.make_piece(source, supply, arena, wanted);
        }
        if supply.movable.is_empty() {
            // It may be that nothing was to move yet.
            supply.movable = self.movable(place);
            return Ok(self.move_piece(supply, arena, wanted, room));
        }
        Ok(None)
    }

    /// Makes a piece; nothing if the source has none left.
    fn make_piece<S: MemorySource>(
        &mut self,
        source: &mut S,
        supply: &mut Supply,
        arena: ArenaId,
        wanted: u64,
    ) -> Result<Option<Supplied<K>>, S::Error> {
        let most = if self.arena(arena).pool == Pool::Small { 1 } else { PIECE };
        let mut pages = wanted.min(most).min(supply.to_make);
        loop {
            match source.known_virtual_memory().create(pages * PAGE) {
                Ok(physical) => {
                    supply.to_make -= pages;
                    self.pages += pages;
                    let piece = self.pieces.insert(Piece { physical, pages, home: None });
                    return Ok(Some(Supplied { piece, uses: Uses::none(), is_recycled: false }));
                }
                // There may be room for less.
                Err(SourceError::Exhausted | SourceError::LimitReached { .. }) if pages > 1 => {
                    pages /= 2;
                }
                Err(SourceError::Failed(error)) => return Err(error),
                Err(SourceError::Exhausted) => supply.refusal = Some(Refusal::Exhausted),
                Err(SourceError::LimitReached { limit }) => {
                    supply.refusal = Some(Refusal::Limit(limit));
                }
            }
            if supply.refusal.is_some() {
                supply.to_make = 0;
                return Ok(None);
            }
        }
    }

    /// Takes a piece from where it is: the largest that is not too large, or else the smallest for
    /// which there is room.
    fn move_piece(
        &mut self,
        supply: &mut Supply,
        arena: ArenaId,
        wanted: u64,
        room: u64,
    ) -> Option<Supplied<K>> {
        let fitting = supply.movable.range(..Movable::of_pages(wanted + 1)).next_back();
        let chosen = match fitting {
            Some(fitting) => *supply.movable.range(Movable::of_pages(fitting.pages)..).next()?,
            None => *supply.movable.first().filter(|first| first.pages <= room)?,
        };
        supply.movable.remove(&chosen);
        let piece = chosen.piece;
        let Some((from, page)) = self.pieces[piece].home.take() else {
            self.spare.retain(|spare| *spare != piece);
            return Some(Supplied { piece, uses: Uses::none(), is_recycled: false });
        };
        let near = chosen.near.expect("a mapped piece is in a span");
        let stale = self.make_stale(near, page, self.pieces[piece].pages);
        let span = &self.spans[stale];
        let mut uses = Uses::none();
        uses.join_from(self.stream_of(arena), &span.uses, self.stream_of(from));
        Some(Supplied { piece, uses, is_recycled: span.is_recycled })
    }
}
