//! The chunks for pages that are missing at a place: made, or taken from where nobody needs them.

use std::ops::Range;

use super::arena::ArenaId;
use super::heap::SpanHeap;
use super::mapper::Mapper;
use super::movable::{FreeChunk, Movable};
use super::pages::{MAX_CHUNK_PAGES, PAGE};
use crate::policy::slab::SlabIndex;
use crate::policy::source::Unable;
use crate::policy::uses::LastUses;
use crate::policy::{MemorySource, Pool, RequestKind, SourceDenial, StreamName};

/// A chunk is so small a part of what is missing, or less: a free block between medium blocks must
/// not be all chunks that are held in part.
const PART: u64 = 7;

/// A plan of how to find chunks for one place, and how far it got.
#[derive(Debug)]
pub(super) struct Supply {
    /// The pages of the place.
    place: Range<u64>,
    /// The number of pages that may be made before any move.
    to_make: u64,
    /// The chunks that may be taken from elsewhere, once they are known.
    movable: Option<Movable>,
    /// Whether those of other pools are among them.
    takes_any: bool,
    /// The chunks that were made.
    made: Vec<SlabIndex>,
    /// The answer of the source when it had none left.
    denial: Option<SourceDenial>,
}

/// A chunk for a place, and the uses of it elsewhere that the place must come after.
pub(super) struct SuppliedChunk<K> {
    pub(super) chunk: SlabIndex,
    pub(super) uses: LastUses<K>,
    pub(super) is_recycled: bool,
}

impl Supply {
    /// Plans how to find `missing` pages for a place of an arena. Only where `moves` is true, chunks
    /// move before new ones are made.
    pub(super) fn plan<K: StreamName>(
        (heap, mapper): (&SpanHeap<K>, &Mapper),
        arena: ArenaId,
        (place, missing): (Range<u64>, u64),
        moves: bool,
    ) -> Supply {
        let takes_any = !heap.has_pools_of_programs();
        let movable = moves.then(|| Movable::of(heap, &mapper.chunks, arena, &place, takes_any));
        let to_move = movable.as_ref().map_or(0, Movable::pages);
        let to_make = missing.saturating_sub(to_move);
        Supply { place, to_make, movable, takes_any, made: Vec::new(), denial: None }
    }

    /// The answer of the source when it had no memory left.
    pub(super) fn denial(&self) -> Option<SourceDenial> {
        self.denial
    }

    /// The chunks that were made for the place.
    pub(super) fn take_made(&mut self) -> Vec<SlabIndex> {
        std::mem::take(&mut self.made)
    }

    /// A chunk for `wanted` pages or fewer, or more where there is room.
    ///
    /// Nothing is mapped yet; where the chunk was mapped, that place is stale from now on.
    pub(super) fn next<K: StreamName, S: MemorySource>(
        &mut self,
        mapper: &mut Mapper,
        heap: &mut SpanHeap<K>,
        source: &mut S,
        arena: ArenaId,
        (wanted, room): (u64, u64),
    ) -> Result<Option<SuppliedChunk<K>>, S::Error> {
        let pool = heap.arena(arena).pool;
        // In the order of what each costs. What is due to be made comes first, as it needs no piece of
        // work to be over; then memory that is there already; then memory beyond the plan, which there
        // was to be none of; and last other pools' memory, which they would have to get back.
        if self.to_make > 0
            && let Some(made) = self.make_chunk(mapper, source, pool, wanted)?
        {
            return Ok(Some(made));
        }
        if let Some(moved) = self.move_chunk(mapper, heap, arena, (wanted, room)) {
            return Ok(Some(moved));
        }
        if self.denial.is_none() {
            self.to_make = wanted;
            return self.make_chunk(mapper, source, pool, wanted);
        }
        if self.movable.is_none() || !self.takes_any {
            self.takes_any = true;
            self.movable = Some(Movable::of(heap, &mapper.chunks, arena, &self.place, true));
            return Ok(self.move_chunk(mapper, heap, arena, (wanted, room)));
        }
        Ok(None)
    }

    /// Makes a chunk; nothing if the source has none left.
    fn make_chunk<K: StreamName, S: MemorySource>(
        &mut self,
        mapper: &mut Mapper,
        source: &mut S,
        pool: Pool,
        wanted: u64,
    ) -> Result<Option<SuppliedChunk<K>>, S::Error> {
        let max = match pool {
            Pool::Small => 1,
            Pool::Large => (wanted / PART).clamp(1, MAX_CHUNK_PAGES),
        };
        let mut pages = wanted.min(max).min(self.to_make);
        loop {
            let error = match mapper.make_chunk(source, pages) {
                Ok(chunk) => {
                    self.to_make -= pages;
                    self.made.push(chunk);
                    return Ok(Some(SuppliedChunk {
                        chunk,
                        uses: LastUses::none(),
                        is_recycled: false,
                    }));
                }
                Err(error) => error,
            };
            match Unable::to_get(RequestKind::Memory, pages * PAGE)(error) {
                Unable::Failed(error) => return Err(error),
                // There may be room for less.
                Unable::Refused(_) if pages > 1 => pages /= 2,
                Unable::Refused(denial) => {
                    self.denial = Some(denial);
                    self.to_make = 0;
                    return Ok(None);
                }
            }
        }
    }

    /// Takes a chunk from where it is.
    fn move_chunk<K: StreamName>(
        &mut self,
        mapper: &mut Mapper,
        heap: &mut SpanHeap<K>,
        arena: ArenaId,
        (wanted, room): (u64, u64),
    ) -> Option<SuppliedChunk<K>> {
        let free = self.movable.as_mut()?.next(heap, &mapper.chunks, wanted, room)?;
        let FreeChunk { chunk, near } = free;
        let Some((from, page)) = mapper.chunks.take(chunk) else {
            return Some(SuppliedChunk { chunk, uses: LastUses::none(), is_recycled: false });
        };
        let near = near.expect("a mapped chunk is in a span");
        let pages = mapper.chunks.get(chunk).pages;
        let stale = mapper.make_stale(heap, near, page..page + pages);
        let span = &heap.caches[stale];
        let mut uses = LastUses::none();
        uses.join_from(heap.stream_of(arena), &span.uses, heap.stream_of(from));
        Some(SuppliedChunk { chunk, uses, is_recycled: span.is_recycled })
    }
}
