//! From the state in which a request was refused to what the error says of it.

use std::collections::BTreeMap;

use gpu_runtime::{Device, StreamId};

use super::groups::Groups;
use super::model;
use super::release::{MemoryHolder, ReachableMemory};
use super::{AwaitedWork, Cause, OutOfMemory};
use crate::observers::CallSite;
use crate::observers::HeapState;
use crate::policy::{
    OutOfMemoryReport, Refusal, RequestKind, SegmentSnapshot, SourceDenial, StreamAndPool,
};

/// A request that was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusedRequest {
    pub(crate) device: Device,
    pub(crate) owner: StreamAndPool<StreamId>,
    pub(crate) call_site: CallSite,
}

/// The bounds of the memory that the allocator may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The device's memory.
    pub(crate) total: usize,
    /// The bytes that the driver has left of it.
    pub(crate) free: usize,
    /// The bytes that the process may take.
    pub(crate) limit: Option<u64>,
    /// Whether the program has put a source of its own in the driver's place.
    pub(crate) has_own_source: bool,
}

/// The party that refused memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refuser {
    Driver,
    /// The process's limit.
    Limit,
    /// The program's own source of memory.
    Source,
}

impl Refuser {
    fn of(refused: &SourceDenial, bounds: &Bounds) -> Refuser {
        // What the driver could have given, as far as it tells, it did not refuse.
        let could_give = match refused.kind {
            RequestKind::Total => bounds.total as u64,
            RequestKind::Segment | RequestKind::Memory => bounds.free as u64,
            RequestKind::Nothing | RequestKind::Addresses | RequestKind::Mapping => 0,
        };
        match refused.refusal {
            Refusal::Limit(limit) if bounds.limit == Some(limit) => Refuser::Limit,
            Refusal::Limit(_) => Refuser::Source,
            Refusal::Exhausted if !bounds.has_own_source => Refuser::Driver,
            Refusal::Exhausted if could_give < refused.given.saturating_add(refused.bytes) => {
                Refuser::Driver
            }
            Refusal::Exhausted => Refuser::Source,
        }
    }
}

/// Explains why a request was refused: by the policy's report, what bounds its memory, and the state
/// of the heap.
pub(crate) fn explain(
    request: RefusedRequest,
    bounds: Bounds,
    report: &OutOfMemoryReport,
    heap: &HeapState,
) -> OutOfMemory {
    let refused = report.certificate.denial();
    let refuser = Refuser::of(&refused, &bounds);
    let (room, most) = room(report, &bounds, refuser);
    let mut holders = Groups::default();
    let mut memory = model::memory(request.owner, report, heap, room, &mut holders);
    let mut out_of_memory = OutOfMemory {
        device: request.device,
        requested: bytes(report.requested),
        stream: request.owner.stream,
        place: request.call_site.location,
        tag: request.call_site.tag,
        total: bounds.total,
        free: bounds.free,
        limit: limit(&refused, refuser == Refuser::Limit),
        source_limit: limit(&refused, refuser == Refuser::Source),
        needed: bytes(report.needed),
        obtainable: bytes(report.reserved.saturating_add(most)),
        allocated: bytes(report.allocated),
        reserved: bytes(report.reserved),
        pending: bytes(report.pending),
        awaited: awaited(&heap.segments),
        largest_free_block: bytes(report.largest_free_block),
        cached_for_other_streams: bytes(report.cached_for_other_streams),
        kept_for_graphs: bytes(report.kept_for_graphs),
        kept_for_pools: bytes(report.kept_for_pools),
        kept: model::kept(request.owner, heap),
        holders: holders.groups,
        enough_to_release: Vec::new(),
        cause: Cause::Capacity,
        certificate: report.certificate.clone(),
    };
    let (cause, enough) = cause(&out_of_memory, refuser, &mut memory);
    out_of_memory.cause = cause;
    let enough = enough.into_iter().map(|one| out_of_memory.holders[one].clone());
    out_of_memory.enough_to_release = enough.collect();
    out_of_memory.holders.sort_by_key(|group| std::cmp::Reverse(group.bytes));
    out_of_memory
}

/// The bytes that may still be taken: so much at least, and so much at most.
fn room(report: &OutOfMemoryReport, bounds: &Bounds, refuser: Refuser) -> (u64, u64) {
    let SourceDenial { kind, bytes, refusal, given } = report.certificate.denial();
    let free = bounds.free as u64;
    let below = |limit: u64| limit.saturating_sub(report.reserved);
    let allowed = bounds.limit.map_or(free, |limit| free.min(below(limit)));
    match (refuser, refusal) {
        (Refuser::Driver | Refuser::Limit, _) => (allowed, allowed),
        (Refuser::Source, Refusal::Limit(limit)) => {
            let room = allowed.min(below(limit));
            (room, room)
        }
        // It does not say what it has; only what was too much.
        (Refuser::Source, Refusal::Exhausted) => {
            let too_much = match kind {
                RequestKind::Total => below(bytes),
                _ => given.saturating_add(bytes),
            };
            (given.min(allowed), too_much.saturating_sub(1).min(allowed))
        }
    }
}

/// The limit that was exceeded, if it is that one.
fn limit(refused: &SourceDenial, is_that: bool) -> Option<usize> {
    match refused.refusal {
        Refusal::Limit(limit) if is_that => Some(bytes(limit)),
        _ => None,
    }
}

/// Why the request was refused, and whose release would do.
fn cause(
    report: &OutOfMemory,
    refuser: Refuser,
    memory: &mut ReachableMemory,
) -> (Cause, Vec<usize>) {
    let held: Vec<_> = report.holders.iter().map(|group| group.bytes as u64).collect();
    let mut enough = memory.enough(&held);
    if report.requested > report.total {
        return (Cause::Capacity, enough);
    }
    if report.pending > 0 && memory.fits(|held_by| held_by == MemoryHolder::Work) {
        return (Cause::Pending, enough);
    }
    if !report.kept.is_empty() {
        memory.end_pools();
        let without_pools = memory.enough(&held);
        if memory.fits(|_| false) || enough.is_empty() && !without_pools.is_empty() {
            if enough.is_empty() {
                enough = without_pools;
            }
            return (Cause::Pools, enough);
        }
    }
    let is_rejection = report.certificate.denial().is_rejection();
    if report.cached() >= report.requested && !is_rejection {
        return (Cause::Fragmentation, enough);
    }
    let cause = match refuser {
        Refuser::Limit => Cause::Limit,
        Refuser::Source => Cause::Source,
        Refuser::Driver => {
            // Would it do if all others went?
            memory.room = memory.room.saturating_add(report.elsewhere() as u64);
            let is_most = report.elsewhere() > report.reserved && memory.fits(|_| false);
            let is_in_the_way = report.is_too_large() && report.needed <= report.total;
            if is_most || is_in_the_way { Cause::OtherProcesses } else { Cause::Capacity }
        }
    };
    (cause, enough)
}

/// The last work on each stream that freed blocks wait for.
fn awaited(segments: &[SegmentSnapshot<StreamId>]) -> Vec<AwaitedWork> {
    let mut awaited = BTreeMap::new();
    for block in segments.iter().flat_map(|segment| &segment.blocks) {
        for (stream, sequence) in &block.waits_for {
            let none = AwaitedWork { stream: *stream, sequence: 0, bytes: 0 };
            let work = awaited.entry(*stream).or_insert(none);
            work.sequence = work.sequence.max(*sequence);
            work.bytes += bytes(block.size);
        }
    }
    awaited.into_values().collect()
}

/// A size as the host counts it; none that was asked for is too large for that.
pub(super) fn bytes(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::panic::Location;

    use gpu_runtime::{DriverChoice, Stream};

    use super::*;
    use crate::Advice;
    use crate::policy::{Address, BlockSnapshot, BlockState, Evidence, Pool};

    const MIB: u64 = 1 << 20;

    /// The report where 16 MiB were asked for, and a segment of 20 MiB waits for work.
    fn report_of_pending_segment() -> OutOfMemoryReport {
        OutOfMemoryReport {
            requested: 16 * MIB,
            rounded: 16 * MIB,
            segment_type: Some(Pool::Large),
            needed: 16 * MIB,
            largest_suitable: u64::MAX,
            allocated: 0,
            pending: 20 * MIB,
            reserved: 20 * MIB,
            largest_free_block: 0,
            cached_for_other_streams: 0,
            kept_for_graphs: 0,
            kept_for_pools: 0,
            takes_any: false,
            certificate: Evidence {
                denial: SourceDenial {
                    kind: RequestKind::Segment,
                    bytes: 16 * MIB,
                    refusal: Refusal::Exhausted,
                    given: 0,
                },
                place: None,
                usages: Vec::new(),
            }
            .into(),
        }
    }

    #[test]
    fn memory_that_work_still_uses_is_named_with_that_work() {
        gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) }).unwrap();
        let device = Device::get(0).unwrap();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let block = BlockSnapshot {
            address: Address(0),
            size: 20 * MIB,
            requested_size: 20 * MIB,
            state: BlockState::ActiveAwaitingFree,
            waits_for: vec![(side.id(), 7)],
        };
        let segment = SegmentSnapshot {
            address: Address(0),
            total_size: 20 * MIB,
            allocated_size: 0,
            active_size: 20 * MIB,
            requested_size: 20 * MIB,
            stream: Some(main.id()),
            pool: None,
            segment_type: Pool::Large,
            is_expandable: false,
            is_kept: false,
            blocks: vec![block],
        };
        let heap = HeapState { segments: vec![segment], holders: HashMap::new(), allocations: 1 };
        let report = report_of_pending_segment();
        let call_site = CallSite { location: Location::caller(), tag: None };
        let request = RefusedRequest { device, owner: main.id().into(), call_site };
        let bounds =
            Bounds { total: (20 * MIB) as usize, free: 0, limit: None, has_own_source: false };
        let error = explain(request, bounds, &report, &heap);
        assert_eq!((error.cause, error.advice()), (Cause::Pending, Advice::Synchronize));
        let bytes = (20 * MIB) as usize;
        assert_eq!(error.awaited, [AwaitedWork { stream: side.id(), sequence: 7, bytes }]);
        let until = format!("until {} has done work 7", side.id());
        assert!(error.to_string().contains(&until), "{error}");
        assert_eq!(error.enough_to_release, []);
    }
}
