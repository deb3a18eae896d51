//! Where pages come from that are missing at a place.

use std::ops::Range;

use super::Stitched;
use super::arena::ArenaId;
use super::chunk::PhysicalChunk;
use super::movable::{Free, Movable};
use super::pages::PAGE;
use crate::policy::slab::Slot;
use crate::policy::source::KnownVirtualMemory;
use crate::policy::source::Unable;
use crate::policy::uses::Uses;
use crate::policy::{MemorySource, Pool, PoolOf, RequestKind, SourceDenial, StreamName};

/// The most pages of a chunk. More cost fewer calls to the driver; fewer are less often held in
/// part, when the rest cannot move.
pub(super) const MOST_PAGES: u64 = 4;
/// A chunk is so small a part of what is missing, or less: a free block between medium blocks must not be
/// all chunks that are held in part.
const PART: u64 = 7;

/// How pages are found for one place.
#[derive(Debug)]
pub(super) struct Supply {
    /// How many may be made before any move.
    to_make: u64,
    /// Where chunks may be taken from, once that is known.
    movable: Option<Movable>,
    /// Whether those of other pools are among them.
    takes_any: bool,
    /// The chunks that were made.
    pub(super) made: Vec<Slot>,
    /// What the source said when it had none left.
    pub(super) refusal: Option<SourceDenial>,
}

/// A chunk for a place, and the uses of it elsewhere that the place must come after.
pub(super) struct Supplied<K> {
    pub(super) chunk: Slot,
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
        let moves = !self.is_kept(arena) && !self.is_generous(missing, bytes);
        let takes_any = !self.pools.iter().any(|pool| matches!(pool, PoolOf::Program(_)));
        let movable = moves.then(|| self.movable(arena, place, takes_any));
        let to_move = movable.as_ref().map_or(0, |movable| movable.pages);
        let to_make = missing.saturating_sub(to_move);
        Supply { to_make, movable, takes_any, made: Vec::new(), refusal: None }
    }

    /// A chunk for `wanted` pages or fewer, or more where there is room.
    ///
    /// Nothing is mapped yet; where the chunk was mapped, that place is stale from now on.
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
            && let Some(made) = self.make_chunk(source, supply, arena, wanted)?
        {
            return Ok(Some(made));
        }
        if let Some(moved) = self.move_chunk(supply, arena, wanted, room) {
            return Ok(Some(moved));
        }
        if supply.refusal.is_none() {
            supply.to_make = wanted;
            return self.make_chunk(source, supply, arena, wanted);
        }
        if supply.movable.is_none() || !supply.takes_any {
            supply.takes_any = true;
            supply.movable = Some(self.movable(arena, place, true));
            return Ok(self.move_chunk(supply, arena, wanted, room));
        }
        Ok(None)
    }

    /// Makes a chunk; nothing if the source has none left.
    fn make_chunk<S: MemorySource>(
        &mut self,
        source: &mut S,
        supply: &mut Supply,
        arena: ArenaId,
        wanted: u64,
    ) -> Result<Option<Supplied<K>>, S::Error> {
        let most = match self.arena(arena).pool {
            Pool::Small => 1,
            Pool::Large => (wanted / PART).clamp(1, MOST_PAGES),
        };
        let mut pages = wanted.min(most).min(supply.to_make);
        loop {
            match source.known_virtual_memory().create(pages * PAGE) {
                Ok(physical) => {
                    supply.to_make -= pages;
                    self.pages += pages;
                    self.calls += 1;
                    self.statistics.num_device_alloc += 1;
                    let chunk = self.chunks.insert(PhysicalChunk { physical, pages, home: None });
                    supply.made.push(chunk);
                    return Ok(Some(Supplied { chunk, uses: Uses::none(), is_recycled: false }));
                }
                Err(error) => match Unable::to_get(RequestKind::Memory, pages * PAGE)(error) {
                    Unable::Failed(error) => return Err(error),
                    // There may be room for less.
                    Unable::Refused(_) if pages > 1 => pages /= 2,
                    Unable::Refused(refused) => supply.refusal = Some(refused),
                },
            }
            if supply.refusal.is_some() {
                supply.to_make = 0;
                self.quarantine.note_scarcity();
                return Ok(None);
            }
        }
    }

    /// Takes a chunk from where it is.
    fn move_chunk(
        &mut self,
        supply: &mut Supply,
        arena: ArenaId,
        wanted: u64,
        room: u64,
    ) -> Option<Supplied<K>> {
        let Free { chunk, near } = supply.movable.as_mut()?.next(self, wanted, room)?;
        let Some((from, page)) = self.chunks[chunk].home.take() else {
            self.spare.retain(|spare| *spare != chunk);
            return Some(Supplied { chunk, uses: Uses::none(), is_recycled: false });
        };
        let near = near.expect("a mapped chunk is in a span");
        let stale = self.make_stale(near, page, self.chunks[chunk].pages);
        let span = &self.spans[stale];
        let mut uses = Uses::none();
        uses.join_from(self.stream_of(arena), &span.uses, self.stream_of(from));
        Some(Supplied { chunk, uses, is_recycled: span.is_recycled })
    }
}
