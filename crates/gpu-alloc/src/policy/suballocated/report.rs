//! The report of a request that the policy could not serve.

use super::allocators::key_of;
use super::segment::{PartState, ProgramSegment};
use super::{Suballocated, Suballocator};
use crate::policy::{
    Address, AllocateError, Evidence, OutOfMemoryReport, PoolOf, Retention, SegmentUsage,
    SourceDenial, StreamAndPool, StreamName,
};

impl<A: Suballocator<K>, K: StreamName> Suballocated<A, K> {
    /// The error for a request; `refused` is nothing where the source was not asked.
    pub(super) fn out_of_memory<E>(
        &self,
        requested: u64,
        bytes: u64,
        owner: StreamAndPool<K>,
        refused: Option<SourceDenial>,
    ) -> AllocateError<E> {
        let serving = self.segments.of(key_of(owner));
        let free = |segment: &ProgramSegment<K>| {
            let free = segment.parts().filter(|(_, part)| part.before().is_some());
            free.map(|(_, part)| part.bytes).sum::<u64>()
        };
        let retention = |retention: fn(&PoolOf) -> bool| {
            let is_kept = |segment: &&ProgramSegment<K>| {
                self.keeper(segment.key).as_ref().is_some_and(retention)
            };
            self.segments.iter().map(|(_, segment)| segment).filter(is_kept).map(free).sum()
        };
        let refused = refused.unwrap_or_else(|| SourceDenial::without_asking(bytes));
        AllocateError::OutOfMemory(Box::new(OutOfMemoryReport {
            requested,
            rounded: bytes,
            segment_type: None,
            needed: refused.bytes,
            largest_suitable: u64::MAX,
            allocated: self.accounts.held(),
            pending: self.accounts.pending(),
            reserved: self.accounts.reserved(),
            largest_free_block: serving.map(ProgramSegment::longest_free).max().unwrap_or(0),
            cached_for_other_streams: 0,
            kept_for_graphs: retention(|pool| matches!(pool, PoolOf::Graphs(_))),
            kept_for_pools: retention(|pool| matches!(pool, PoolOf::Program(_))),
            takes_any: false,
            certificate: Evidence { denial: refused, place: None, usages: self.usages() }.into(),
        }))
    }

    /// Each segment.
    pub(super) fn usages(&self) -> Vec<SegmentUsage> {
        let usages = self.segments.iter();
        usages.map(|(address, segment)| self.usage(address, segment)).collect()
    }

    fn usage(&self, address: u64, segment: &ProgramSegment<K>) -> SegmentUsage {
        let mut uses = self.uses_of(segment);
        let retention = if let Some(pool) = self.keeper(segment.key) {
            pool.into()
        } else if !segment.is_unused() {
            Retention::Allocations
        } else if uses.any(|(stream, last)| last > self.pending.completed_on(stream)) {
            Retention::Work
        } else {
            Retention::None
        };
        let (address, bytes) = (Some(Address(address)), segment.bytes);
        let mut usage = SegmentUsage { address, bytes, held: 0, waiting: 0, retention };
        for (_, part) in segment.parts() {
            if let PartState::Taken(slot) = part.state {
                let is_waiting = self.records[slot].is_waiting;
                *if is_waiting { &mut usage.waiting } else { &mut usage.held } += part.bytes;
            }
        }
        usage
    }
}
