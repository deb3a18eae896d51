//! From the state in which a request was refused to what the error says of it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use gpu_runtime::{Device, MemoryInfo, StreamId};

use super::release::{GivesBack, Memory, Owner, Stretch};
use super::{AwaitedWork, Cause, HeldMemory, OutOfMemory};
use crate::books::Moment;
use crate::history;
use crate::holders::{Holder, Origin};
use crate::policy::{BlockState, Home, OutOfMemoryReport, Refusal, Segment};

/// A request that was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) device: Device,
    pub(crate) home: Home<StreamId>,
    pub(crate) origin: Origin,
}

/// Explains why a request was refused: by the policy's report, the driver's figures, and the moment.
pub(crate) fn explain(
    request: Request,
    memory: MemoryInfo,
    report: &OutOfMemoryReport,
    moment: &Moment,
) -> OutOfMemory {
    let mut holders = Groups::default();
    let limit = match report.certificate.refused.refusal {
        Refusal::Exhausted => None,
        Refusal::Limit(limit) => Some(limit),
    };
    let driver_room = memory.free as u64;
    let allowed = limit.map_or(u64::MAX, |limit| limit.saturating_sub(report.reserved));
    let mut state = Memory {
        segments: stretches(request.home, report, moment, &mut holders),
        room: driver_room.min(allowed),
        block: report.rounded,
        segment: report.segment,
    };
    let held: Vec<_> = holders.groups.iter().map(|group| group.bytes as u64).collect();
    let enough = state.enough(&held);
    let enough_to_release = enough.into_iter().map(|one| holders.groups[one].clone()).collect();
    let mut out_of_memory = OutOfMemory {
        device: request.device,
        requested: bytes(report.requested),
        stream: request.home.stream,
        place: request.origin.place,
        tag: request.origin.tag,
        total: memory.total,
        free: memory.free,
        limit: limit.map(bytes),
        allocated: bytes(report.allocated),
        reserved: bytes(report.reserved),
        pending: bytes(report.pending),
        awaited: awaited(&moment.segments),
        largest_free_block: bytes(report.largest_free_block),
        cached_for_other_streams: bytes(report.cached_for_other_streams),
        kept_for_graphs: bytes(report.kept_for_graphs),
        holders: holders.groups,
        enough_to_release,
        cause: Cause::Capacity,
        certificate: report.certificate.clone(),
    };
    out_of_memory.holders.sort_by_key(|group| std::cmp::Reverse(group.bytes));
    out_of_memory.cause = cause(&out_of_memory, &mut state);
    out_of_memory
}

fn cause(report: &OutOfMemory, memory: &mut Memory) -> Cause {
    if report.requested > report.total {
        return Cause::Capacity;
    }
    if report.pending > 0 && memory.fits(|owner| owner == Owner::Work) {
        return Cause::Pending;
    }
    if report.cached() >= report.requested {
        return Cause::Fragmentation;
    }
    if report.limit.is_some() {
        return Cause::Limit;
    }
    // Would it do if all others went?
    memory.room = memory.room.saturating_add(report.elsewhere() as u64);
    let others = report.elsewhere() > report.reserved && memory.fits(|_| false);
    if others { Cause::OtherProcesses } else { Cause::Capacity }
}

/// The segments as they matter to a request of that home; also finds out who holds what.
fn stretches(
    home: Home<StreamId>,
    report: &OutOfMemoryReport,
    moment: &Moment,
    holders: &mut Groups,
) -> Vec<Stretch> {
    let now = history::now();
    let mut stretch = |segment: &Segment<StreamId>| {
        let parts = segment.blocks.iter().map(|block| {
            let owner = match block.state {
                BlockState::Inactive => Owner::Nobody,
                BlockState::ActiveAwaitingFree => Owner::Work,
                BlockState::ActiveAllocated => {
                    let holder = moment.holders.get(&block.address);
                    match holder.and_then(|holder| Some((holder, holder.home?.stream))) {
                        None => Owner::Unknown,
                        Some((holder, stream)) => {
                            let age = moment.allocations.saturating_sub(holder.number + 1);
                            Owner::Holder(holders.add(holder, stream, (block.size, age), now))
                        }
                    }
                }
            };
            (block.size, owner)
        });
        Stretch {
            address: segment.address,
            serves: if report.takes_any {
                !segment.is_kept
            } else {
                segment.stream == Some(home.stream)
                    && segment.pool == home.pool
                    && report.segment_type.is_none_or(|served| segment.segment_type == served)
            },
            gives_back: match (segment.is_kept, segment.is_expandable) {
                (true, _) => GivesBack::Nothing,
                (false, true) => GivesBack::Pages,
                (false, false) => GivesBack::Whole,
            },
            parts: parts.collect(),
        }
    };
    moment.segments.iter().map(&mut stretch).collect()
}

/// The holders, by place, tag and stream.
#[derive(Default)]
struct Groups {
    groups: Vec<HeldMemory>,
    numbers: HashMap<(Origin, StreamId), usize>,
}

impl Groups {
    /// Adds a block; returns its group.
    fn add(
        &mut self,
        holder: &Holder,
        stream: StreamId,
        (size, age): (u64, u64),
        now: u64,
    ) -> usize {
        let origin = holder.origin;
        let number = *self.numbers.entry((origin, stream)).or_insert_with(|| {
            let Origin { place, tag } = origin;
            let (bytes, blocks, oldest, oldest_time) = (0, 0, 0, None);
            self.groups.push(HeldMemory { place, tag, stream, bytes, blocks, oldest, oldest_time });
            self.groups.len() - 1
        });
        let group = &mut self.groups[number];
        group.bytes += bytes(size);
        group.blocks += 1;
        group.oldest = group.oldest.max(age);
        let time = holder.time.map(|time| Duration::from_micros(now.saturating_sub(time)));
        group.oldest_time = group.oldest_time.max(time);
        number
    }
}

/// Per stream, the last work that freed blocks wait for.
fn awaited(segments: &[Segment<StreamId>]) -> Vec<AwaitedWork> {
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
fn bytes(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use gpu_runtime::{DriverChoice, Stream};

    use super::*;
    use crate::Advice;
    use crate::policy::{Address, Asked, BlockSnapshot, Certificate, Pool, Refused};

    const MIB: u64 = 1 << 20;

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
        let segment = Segment {
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
        let moment = Moment { segments: vec![segment], holders: HashMap::new(), allocations: 1 };
        let report = OutOfMemoryReport {
            requested: 16 * MIB,
            rounded: 16 * MIB,
            segment_type: Some(Pool::Large),
            segment: 16 * MIB,
            allocated: 0,
            pending: 20 * MIB,
            reserved: 20 * MIB,
            largest_free_block: 0,
            cached_for_other_streams: 0,
            kept_for_graphs: 0,
            kept_for_pools: 0,
            takes_any: false,
            certificate: Certificate {
                refused: Refused {
                    asked: Asked::Segment,
                    bytes: 16 * MIB,
                    refusal: Refusal::Exhausted,
                    given: 0,
                },
                place: None,
                shares: Vec::new(),
            },
        };
        let origin = Origin { place: Location::caller(), tag: None };
        let request = Request { device, home: main.id().into(), origin };
        let memory = MemoryInfo { free: 0, total: (20 * MIB) as usize };
        let error = explain(request, memory, &report, &moment);
        assert_eq!((error.cause, error.advice()), (Cause::Pending, Advice::Synchronize));
        let bytes = (20 * MIB) as usize;
        assert_eq!(error.awaited, [AwaitedWork { stream: side.id(), sequence: 7, bytes }]);
        let until = format!("until {} has done work 7", side.id());
        assert!(error.to_string().contains(&until), "{error}");
        assert_eq!(error.enough_to_release, []);
    }
}
