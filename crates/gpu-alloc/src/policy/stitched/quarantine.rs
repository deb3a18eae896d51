//! Memory that other streams may still use when it is freed is kept back for a while.
//!
//! Whoever got it at once would wait for those uses, which are the latest work of their streams: a
//! loop that copies ahead on a stream of its own would copy into the memory that is being computed
//! with. So such memory queues up, first in, first out, as long as there is enough other memory.
//! What leaves the queue, and when, follows from the order of the calls alone.

use std::collections::VecDeque;

use super::Stitched;
use super::arena::ArenaId;
use super::pages::{PAGE, touched};
use super::span::SpanState;
use super::stream_cache::StreamCache;
use crate::policy::slab::Slot;
use crate::policy::source::Unable;
use crate::policy::{MemorySource, StreamName};

/// So much may be kept back however little is held: some batches, for most programs.
const LEAST_BOUND: u64 = 64 << 20;
/// This part of the most that was ever held may be kept back, if it is more and there is memory
/// enough.
const SHARE: u64 = 128;

/// The spans that are kept back.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    /// In the order in which they were freed.
    spans: VecDeque<Slot>,
    bytes: u64,
    /// Whether the source has refused memory since some was last given back.
    is_scarce: bool,
}

impl Quarantine {
    /// The pages that the spans would fill.
    pub(super) fn pages(&self) -> u64 {
        self.bytes.div_ceil(PAGE)
    }

    /// Learns that the source has no more memory: from now on no more than the least is kept back.
    pub(super) fn note_scarcity(&mut self) {
        self.is_scarce = true;
    }

    /// How many bytes may be kept back by whoever held so many at most.
    fn bound(&self, most_held: u64) -> u64 {
        if self.is_scarce { LEAST_BOUND } else { LEAST_BOUND.max(most_held / SHARE) }
    }
}

impl<K: StreamName> Stitched<K> {
    /// Keeps a freed span back if other streams have used it than its own and its holder's, who
    /// would not wait, and makes it a free block otherwise. The oldest go where there are too many.
    pub(super) fn make_available(&mut self, slot: Slot) {
        let span = &self.spans[slot];
        let holder = self.stream_of(span.holder);
        if span.uses.others().all(|(stream, _)| stream == holder) {
            self.make_free_block(slot);
            return;
        }
        let span = &mut self.spans[slot];
        span.state = SpanState::Quarantined;
        self.quarantine.bytes += span.bytes;
        self.quarantine.spans.push_back(slot);
        while self.quarantine.bytes > self.quarantine.bound(self.most_held) {
            self.end_quarantine_of(0);
        }
    }

    /// Makes room for a request, where that takes more memory than there may be before pages move,
    /// with what is kept back.
    pub(super) fn free_block_from_quarantine(
        &mut self,
        arena: ArenaId,
        bytes: u64,
    ) -> Option<(Slot, u64)> {
        let fits = |slot: &Slot| {
            let span = &self.spans[*slot];
            span.arena == arena && span.bytes >= bytes
        };
        if let Some(oldest) = self.quarantine.spans.iter().position(fits) {
            self.end_quarantine_of(oldest);
        } else if self.may_move(arena, touched(0, bytes).end) || !self.end_quarantine() {
            return None;
        }
        self.free_block_for(arena, bytes)
    }

    /// Makes a free block for `bytes`, if need be of what is kept back, and in the end of all that there is.
    pub(super) fn map_or_reclaim<S: MemorySource>(
        &mut self,
        source: &mut S,
        arena: ArenaId,
        bytes: u64,
    ) -> Result<(Slot, u64), Unable<S::Error>> {
        let is_refused = |outcome: &Result<_, _>| matches!(outcome, Err(Unable::Refused(_)));
        let mut outcome = self.stitch(source, arena, bytes);
        if is_refused(&outcome) && self.end_quarantine() {
            outcome = match self.free_block_for(arena, bytes) {
                Some(free_block) => Ok(free_block),
                None => self.stitch(source, arena, bytes),
            };
        }
        if is_refused(&outcome) {
            outcome = self.reclaim(source, arena, bytes);
        }
        outcome
    }

    /// Free spans that are no free blocks yet, and the free blocks that they will be joined with.
    pub(super) fn unjoined(&self) -> impl Iterator<Item = Slot> {
        let fresh = self.spans.caches().filter_map(StreamCache::fresh);
        self.quarantine.spans.iter().copied().chain(fresh).flat_map(|slot| {
            let neighbours = [self.spans[slot].previous, self.spans[slot].next];
            let free_block = |slot: &Slot| self.spans[*slot].state == SpanState::Free;
            std::iter::once(slot).chain(neighbours.into_iter().flatten().filter(free_block))
        })
    }

    /// Makes free blocks of all that is kept back, to give memory back.
    pub(super) fn dissolve_quarantine(&mut self) {
        self.end_quarantine();
        self.quarantine.is_scarce = false;
    }

    /// Makes free blocks of all that is kept back; false if there is nothing.
    pub(super) fn end_quarantine(&mut self) -> bool {
        let any = !self.quarantine.spans.is_empty();
        while !self.quarantine.spans.is_empty() {
            self.end_quarantine_of(0);
        }
        any
    }

    /// Whether there are so many pages that nobody holds anything of and that may move to an arena
    /// before memory is short. It looks at no more than it needs to know that.
    fn may_move(&self, to: ArenaId, wanted: u64) -> bool {
        let among = self.pool_in_use(to);
        let spare = self.spare.iter().map(|chunk| self.chunks[*chunk].pages);
        let mapped = self.free_chunks().filter(|(from, ..)| self.pool_in_use(*from) == among);
        let mapped = mapped.map(|(_, _, pages)| pages.end - pages.start);
        let mut found = 0;
        spare.chain(mapped).any(|pages| {
            found += pages;
            found >= wanted
        })
    }

    fn end_quarantine_of(&mut self, index: usize) {
        let slot = self.quarantine.spans.remove(index).expect("there are more spans than that");
        self.quarantine.bytes -= self.spans[slot].bytes;
        self.make_free_block(slot);
    }
}
