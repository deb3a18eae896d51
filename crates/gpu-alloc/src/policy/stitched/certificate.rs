//! What the stitching policy says when it cannot serve a request.

use std::collections::BTreeMap;

use super::Stitched;
use super::arena::ArenaId;
use super::lane::pool_of;
use super::pages::{PAGE, touched};
use super::span::{Span, State};
use crate::policy::slab::Slot;
use crate::policy::{
    Address, Asked, Certificate, Home, KeptBy, OutOfMemoryReport, Place, PoolOf, Refused, Share,
    StreamName,
};

impl<K: StreamName> Stitched<K> {
    pub(super) fn out_of_memory(
        &self,
        requested: u64,
        rounded: u64,
        home: Home<K>,
        refused: Refused,
    ) -> OutOfMemoryReport {
        let is_kept = matches!(home.pool, Some(PoolOf::Graphs(_)));
        let pool = pool_of(rounded);
        let arena = self.arena_of.get(&(home, pool)).copied();
        let serving = arena.into_iter().flat_map(|arena| self.arenas_that_serve(arena));
        let runs = serving.flat_map(|id| self.free_runs(id).collect::<Vec<_>>());
        let free = |counts: &dyn Fn(ArenaId) -> bool| {
            let free = self.spans.iter().filter(|span| span.is_at_hand());
            free.filter(|span| counts(span.arena)).map(|span| span.bytes).sum()
        };
        // All that nobody holds serves any request, unless it is kept.
        let is_elsewhere = |id| is_kept && !self.is_kept(id);
        let place = arena
            .filter(|_| refused.asked != Asked::Total)
            .and_then(|arena| self.closest(arena, rounded, refused));
        let statistics = self.statistics();
        let allocated = statistics.allocated_bytes.all.current;
        OutOfMemoryReport {
            requested,
            rounded,
            segment_type: Some(pool),
            needed: rounded.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX),
            largest_suitable: u64::MAX,
            allocated,
            pending: statistics.active_bytes.all.current - allocated,
            reserved: self.pages * PAGE,
            largest_free_block: runs.max().unwrap_or(0),
            cached_for_other_streams: free(&is_elsewhere),
            kept_for_graphs: free(&|id| self.is_kept(id)),
            kept_for_pools: 0,
            takes_any: !is_kept,
            certificate: Certificate { refused, place, shares: self.shares() },
        }
    }

    /// The place that came closest.
    fn closest(&self, arena: ArenaId, bytes: u64, refused: Refused) -> Option<Place> {
        let (owner, place) = self.best_place(arena, bytes)?;
        let pages = touched(place.address, place.address + bytes);
        Some(Place {
            address: Address(place.address),
            page_bytes: PAGE,
            pages: pages.end - pages.start,
            missing: place.missing,
            supply: self.supply_at(owner, place, bytes) + refused.given / PAGE,
        })
    }

    /// Each piece of physical memory, those that are mapped nowhere first.
    pub(super) fn shares(&self) -> Vec<Share> {
        let share = |(slot, piece): (Slot, &super::Piece)| {
            let address = piece.home.map(|(_, page)| Address(page * PAGE));
            let kept_by = KeptBy::Nobody;
            (slot, Share { address, bytes: piece.bytes(), held: 0, waiting: 0, kept_by })
        };
        let mut shares: BTreeMap<_, _> = self.pieces.entries().map(share).collect();
        for arena in self.arena_ids() {
            for region in &self.arena(arena).regions {
                for (slot, span) in self.spans.from(region.first) {
                    self.claim(arena, slot, span, &mut shares);
                }
            }
        }
        let mut shares: Vec<_> = shares.into_values().collect();
        shares.sort_unstable_by_key(|share| share.address);
        shares
    }

    /// Counts a span in the pieces that it reaches into.
    fn claim(
        &self,
        arena: ArenaId,
        slot: Slot,
        span: &Span<K>,
        shares: &mut BTreeMap<Slot, Share>,
    ) {
        let kept_by = match span.state {
            State::Vacant | State::Stale | State::Unused => return,
            _ if self.is_kept(arena) => KeptBy::Graphs,
            State::Held | State::Waiting => KeptBy::Holders,
            State::Quarantined | State::Fresh | State::Hole if !self.is_over(slot) => KeptBy::Work,
            State::Quarantined | State::Fresh | State::Hole => KeptBy::Nobody,
        };
        let mut from = span.address;
        while from < span.end() {
            let piece = self.arena(arena).piece_at(from / PAGE).expect("the page is mapped");
            let share = shares.get_mut(&piece).expect("the pieces of the pages are known");
            let start = share.address.map_or(from, |address| address.0);
            let to = span.end().min(start + share.bytes);
            match span.state {
                State::Held => share.held += to - from,
                State::Waiting => share.waiting += to - from,
                _ => {}
            }
            share.kept_by = share.kept_by.max(kept_by);
            from = to;
        }
    }
}
