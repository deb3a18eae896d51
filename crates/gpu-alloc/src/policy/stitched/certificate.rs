//! The report of a request that the stitching policy could not serve.

use std::collections::BTreeMap;

use super::Stitched;
use super::arena::ArenaId;
use super::chunk::PhysicalChunk;
use super::movable::Movable;
use super::pages::{PAGE, touched};
use super::placement;
use super::span::{Span, SpanState};
use super::stream_cache::pool_of;
use crate::policy::slab::SlabIndex;
use crate::policy::{
    Address, ClosestPlace, Evidence, OutOfMemoryReport, PoolOf, RequestKind, Retention,
    SegmentUsage, SourceDenial, StreamAndPool, StreamName,
};

impl<K: StreamName> Stitched<K> {
    pub(super) fn out_of_memory(
        &self,
        requested: u64,
        rounded: u64,
        owner: StreamAndPool<K>,
        refused: SourceDenial,
    ) -> OutOfMemoryReport {
        let is_kept = matches!(owner.pool, Some(PoolOf::Graphs(_)));
        let pool = pool_of(rounded);
        let arena = self.heap.known_arena(owner, pool);
        let serving = arena.into_iter().flat_map(|arena| self.heap.arenas_that_serve(arena));
        let runs = serving.flat_map(|id| self.free_runs(id).collect::<Vec<_>>());
        let free = |counts: &dyn Fn(ArenaId) -> bool| {
            let free = self.heap.caches.iter().filter(|span| span.is_at_hand());
            free.filter(|span| counts(span.arena)).map(|span| span.bytes).sum()
        };
        // All that nobody holds serves any request, unless it is kept.
        let is_elsewhere = |id| is_kept && !self.heap.is_kept(id);
        let place = arena
            .filter(|_| refused.kind != RequestKind::Total)
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
            reserved: self.mapper.chunks.pages() * PAGE,
            largest_free_block: runs.max().unwrap_or(0),
            cached_for_other_streams: free(&is_elsewhere),
            kept_for_graphs: free(&|id| self.heap.is_kept(id)),
            kept_for_pools: 0,
            takes_any: !is_kept,
            certificate: Evidence { denial: refused, place, usages: self.usages() }.into(),
        }
    }

    /// The place that came closest.
    fn closest(&self, arena: ArenaId, bytes: u64, refused: SourceDenial) -> Option<ClosestPlace> {
        let (owner, place) = placement::best_place(&self.heap, arena, bytes)?;
        let pages = touched(place.address, place.address + bytes);
        let chunks = &self.mapper.chunks;
        let supply = Movable::of(&self.heap, chunks, owner, &pages, true);
        Some(ClosestPlace {
            address: Address(place.address),
            page_bytes: PAGE,
            pages: pages.end - pages.start,
            missing: place.missing,
            supply: supply.pages() + refused.given / PAGE,
        })
    }

    /// Each chunk of physical memory, those that are mapped nowhere first.
    pub(super) fn usages(&self) -> Vec<SegmentUsage> {
        let usage = |(slot, chunk): (SlabIndex, &PhysicalChunk)| {
            let address = chunk.mapped_at.map(|(_, page)| Address(page * PAGE));
            let retention = Retention::None;
            (slot, SegmentUsage { address, bytes: chunk.bytes(), held: 0, waiting: 0, retention })
        };
        let mut usages: BTreeMap<_, _> = self.mapper.chunks.entries().map(usage).collect();
        for arena in self.heap.arena_ids() {
            for region in &self.heap.arena(arena).regions {
                for (slot, span) in self.heap.caches.from(region.first) {
                    self.claim(arena, slot, span, &mut usages);
                }
            }
        }
        let mut usages: Vec<_> = usages.into_values().collect();
        usages.sort_unstable_by_key(|usage| usage.address);
        usages
    }

    /// Counts a span in the chunks that it reaches into.
    fn claim(
        &self,
        arena: ArenaId,
        slot: SlabIndex,
        span: &Span<K>,
        usages: &mut BTreeMap<SlabIndex, SegmentUsage>,
    ) {
        let retention = match span.state {
            SpanState::Vacant | SpanState::Stale | SpanState::Unused => return,
            _ if self.heap.is_kept(arena) => Retention::Graphs,
            SpanState::Held | SpanState::Waiting => Retention::Allocations,
            SpanState::Quarantined | SpanState::Fresh | SpanState::Free
                if !self.heap.is_over(slot) =>
            {
                Retention::Work
            }
            SpanState::Quarantined | SpanState::Fresh | SpanState::Free => Retention::None,
        };
        let mut from = span.address;
        while from < span.end() {
            let chunk = self.heap.arena(arena).chunk_at(from / PAGE).expect("the page is mapped");
            let usage = usages.get_mut(&chunk).expect("the chunks of the pages are known");
            let start = usage.address.map_or(from, |address| address.0);
            let to = span.end().min(start + usage.bytes);
            match span.state {
                SpanState::Held => usage.held += to - from,
                SpanState::Waiting => usage.waiting += to - from,
                _ => {}
            }
            usage.retention = usage.retention.max(retention);
            from = to;
        }
    }
}
