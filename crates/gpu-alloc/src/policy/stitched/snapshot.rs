//! Shows the stitched memory as plain structs.

use super::Stitched;
use super::arena::ArenaId;
use super::span::{Span, State};
use crate::policy::slab::Slot;
use crate::policy::{Address, BlockSnapshot, BlockState, Inspect, Segment, StreamName};

impl<K: StreamName> Inspect for Stitched<K> {
    fn snapshot(&self) -> Vec<Segment<K>> {
        let regions = self
            .arena_ids()
            .flat_map(|id| self.arena(id).regions.iter().map(move |region| (id, region)));
        let mut segments: Vec<_> =
            regions.flat_map(|(id, region)| self.segments(id, region.first)).collect();
        segments.sort_by_key(|segment| segment.address);
        segments
    }
}

impl<K: StreamName> Stitched<K> {
    /// The runs of mapped memory of a region.
    fn segments(&self, arena: ArenaId, first: Slot) -> Vec<Segment<K>> {
        let spans: Vec<&Span<K>> = self.spans.from(first).map(|(_, span)| span).collect();
        let runs = spans.chunk_by(|one, next| is_used(one) && is_used(next));
        let runs = runs.filter(|run| run.iter().all(|span| is_used(span)));
        runs.map(|run| self.segment(arena, run)).collect()
    }

    fn segment(&self, arena: ArenaId, spans: &[&Span<K>]) -> Segment<K> {
        let home = self.arena(arena).home;
        let sum = |of: fn(&Span<K>) -> u64| spans.iter().map(|span| of(span)).sum::<u64>();
        let held = sum(|span| if span.state == State::Held { span.bytes } else { 0 });
        Segment {
            address: Address(spans[0].address),
            total_size: sum(|span| span.bytes),
            allocated_size: held,
            active_size: held,
            requested_size: sum(|span| span.requested),
            stream: home.stream,
            pool: home.pool,
            segment_type: self.arena(arena).pool,
            is_expandable: true,
            is_kept: self.is_kept(arena),
            blocks: spans.iter().map(|span| block(span)).collect(),
        }
    }
}

fn is_used<K>(span: &Span<K>) -> bool {
    matches!(span.state, State::Held | State::Hole)
}

fn block<K>(span: &Span<K>) -> BlockSnapshot<K> {
    let state = match span.state {
        State::Held => BlockState::ActiveAllocated,
        State::Hole | State::Vacant | State::Stale => BlockState::Inactive,
    };
    BlockSnapshot {
        address: Address(span.address),
        size: span.bytes,
        requested_size: span.requested,
        state,
        waits_for: Vec::new(),
    }
}
