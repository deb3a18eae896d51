//! Shows the stitched memory as plain structs.

use std::collections::BTreeMap;

use super::Stitched;
use super::arena::ArenaId;
use super::span::{Span, SpanState};
use crate::policy::slab::SlabIndex;
use crate::policy::{
    Address, BlockSnapshot, BlockState, Inspect, PoolId, SegmentSnapshot, SegmentUsage, StreamName,
};

/// The work that each waiting span waits for.
type WaitsBySpan<K> = BTreeMap<SlabIndex, Vec<(K, u64)>>;

impl<K: StreamName> Inspect for Stitched<K> {
    fn snapshot(&self) -> Vec<SegmentSnapshot<K>> {
        let waits = self.heap.pending.waits();
        let regions = self
            .heap
            .arena_ids()
            .flat_map(|id| self.heap.arena(id).regions.iter().map(move |region| (id, region)));
        let mut segments: Vec<_> =
            regions.flat_map(|(id, region)| self.segments(id, region.first, &waits)).collect();
        segments.sort_by_key(|segment| segment.address);
        segments
    }

    fn reserved_by_pool(&self) -> BTreeMap<PoolId, u64> {
        let mut reserved = BTreeMap::new();
        for (pool, arena) in self.heap.arenas_of_pools() {
            let regions = self.heap.arena(arena).regions.iter();
            let spans = regions.flat_map(|region| self.heap.caches.from(region.first));
            let bytes: u64 =
                spans.filter(|(_, span)| is_used(span)).map(|(_, span)| span.bytes).sum();
            if bytes > 0 {
                *reserved.entry(pool).or_default() += bytes;
            }
        }
        reserved
    }

    fn taken(&self) -> Vec<SegmentUsage> {
        self.usages()
    }
}

impl<K: StreamName> Stitched<K> {
    /// The runs of mapped memory of a region.
    fn segments(
        &self,
        arena: ArenaId,
        first: SlabIndex,
        waits: &WaitsBySpan<K>,
    ) -> Vec<SegmentSnapshot<K>> {
        let spans: Vec<_> = self.heap.caches.from(first).collect();
        let runs = spans.chunk_by(|(_, one), (_, next)| is_used(one) && is_used(next));
        let runs = runs.filter(|run| run.iter().all(|(_, span)| is_used(span)));
        runs.map(|run| self.segment(arena, run, waits)).collect()
    }

    /// The sizes of the runs of free memory of an arena.
    pub(super) fn free_runs(&self, arena: ArenaId) -> impl Iterator<Item = u64> {
        let regions = self.heap.arena(arena).regions.iter();
        regions.flat_map(move |region| {
            let spans: Vec<_> = self.heap.caches.from(region.first).map(|(_, span)| span).collect();
            let runs = spans.chunk_by(|one, next| one.is_at_hand() && next.is_at_hand());
            let free = runs.filter(|run| run[0].is_at_hand());
            free.map(|run| run.iter().map(|span| span.bytes).sum()).collect::<Vec<_>>()
        })
    }

    fn segment(
        &self,
        arena: ArenaId,
        spans: &[(SlabIndex, &Span<K>)],
        waits: &WaitsBySpan<K>,
    ) -> SegmentSnapshot<K> {
        let owner = self.heap.arena(arena).owner;
        let sum = |of: fn(&Span<K>) -> u64| spans.iter().map(|(_, span)| of(span)).sum::<u64>();
        let held = sum(|span| if span.state == SpanState::Held { span.bytes } else { 0 });
        let waiting = sum(|span| if span.state == SpanState::Waiting { span.bytes } else { 0 });
        SegmentSnapshot {
            address: Address(spans[0].1.address),
            total_size: sum(|span| span.bytes),
            allocated_size: held,
            active_size: held + waiting,
            requested_size: sum(|span| span.requested),
            stream: Some(owner.stream),
            pool: owner.pool,
            segment_type: self.heap.arena(arena).pool,
            is_expandable: true,
            is_kept: self.heap.is_kept(arena),
            blocks: blocks(spans, waits),
        }
    }
}

fn is_used<K>(span: &Span<K>) -> bool {
    span.is_at_hand() || matches!(span.state, SpanState::Held | SpanState::Waiting)
}

/// The blocks of a segment. Free memory is one, also where a part of it is kept back.
fn blocks<K: StreamName>(
    spans: &[(SlabIndex, &Span<K>)],
    waits: &WaitsBySpan<K>,
) -> Vec<BlockSnapshot<K>> {
    let runs = spans.chunk_by(|(_, one), (_, next)| one.is_at_hand() && next.is_at_hand());
    let blocks = runs.map(|run| {
        let (slot, first) = run[0];
        let size = run.iter().map(|(_, span)| span.bytes).sum();
        BlockSnapshot { size, ..block(first, waits.get(&slot)) }
    });
    blocks.collect()
}

fn block<K: StreamName>(span: &Span<K>, waits_for: Option<&Vec<(K, u64)>>) -> BlockSnapshot<K> {
    let state = match span.state {
        SpanState::Held => BlockState::ActiveAllocated,
        SpanState::Waiting => BlockState::ActiveAwaitingFree,
        _ => BlockState::Inactive,
    };
    BlockSnapshot {
        address: Address(span.address),
        size: span.bytes,
        requested_size: span.requested,
        state,
        waits_for: waits_for.cloned().unwrap_or_default(),
    }
}
