//! A snapshot of this process's memory.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

use gpu_runtime::{Device, StreamId};

use super::{
    Action, DeviceSnapshot, Frame, Frames, HostSnapshot, OutOfMemoryMoment, Segment, Snapshot,
    SnapshotBlock, TraceEntry,
};
use crate::allocators::device::{self, DeviceAllocator};
use crate::allocators::host;
use crate::allocators::pinned::{self, PinnedAllocator};
use crate::observers::CallSite;
use crate::observers::HeapState;
use crate::observers::history::{EventKind, HistoryEvent, HistoryRecorder, InUse, LastRefusal};
use crate::policy::{self, BlockState, PoolOf, StreamAndPool};
use crate::statistics;

/// Shows every segment of every device, and of page-locked memory, with its blocks, what they are doing
/// and who asked for them; and the [history](crate::record_memory_history), if that is on.
///
/// They are shown one after the other, and other threads go on meanwhile. It waits for nothing.
pub fn memory_snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut names = SharedNames::default();
    for (device, allocator) in device::used() {
        add_device(&mut snapshot, &mut names, device, allocator);
    }
    snapshot.host = pinned::allocator_in_use().map(|allocator| host_memory(&mut names, allocator));
    snapshot
}

fn host_memory(names: &mut SharedNames, allocator: &PinnedAllocator) -> HostSnapshot {
    let (heap, statistics, limit, recorded) = allocator.with_whole(|whole| {
        let heap = whole.observer.heap(whole.policy);
        let statistics = host::complete(&whole);
        let limit = whole.source.source().limit();
        (heap, statistics, limit, RecordedHistory::of(whole.observer.recorder()))
    });
    let RecordedHistory { events, dropped, refusal } = recorded;
    HostSnapshot {
        segments: names.segments(0, &heap, &events).collect(),
        trace: events.iter().map(|event| names.entry(event)).collect(),
        state: DeviceSnapshot {
            name: "page-locked memory of the host".to_owned(),
            limit,
            statistics: statistics.entries().collect(),
            dropped_events: dropped,
            out_of_memory: refusal.map(|refusal| names.heap(0, refusal, &events)),
            ..DeviceSnapshot::default()
        },
    }
}

/// The contents of the history, with the taking of the snapshot as its last event.
struct RecordedHistory {
    events: Vec<HistoryEvent>,
    dropped: u64,
    refusal: Option<LastRefusal>,
}

impl RecordedHistory {
    fn of(recorder: Option<&mut HistoryRecorder>) -> RecordedHistory {
        let Some(recorder) = recorder else {
            return RecordedHistory { events: Vec::new(), dropped: 0, refusal: None };
        };
        recorder.snapshot_taken();
        let events = recorder.events().copied().collect();
        let (dropped, refusal) = (recorder.dropped(), recorder.last_refusal().cloned());
        RecordedHistory { events, dropped, refusal }
    }
}

fn add_device(
    snapshot: &mut Snapshot,
    names: &mut SharedNames,
    device: Device,
    allocator: &DeviceAllocator,
) {
    let memory = device.memory_info().ok();
    let name = device.properties().map_or_else(|_| device.to_string(), |of| of.name);
    let (heap, statistics, limit, recorded) = allocator.with_whole(|whole| {
        let heap = whole.observer.heap(whole.policy);
        let statistics = statistics::complete(&whole);
        let limit = whole.source.source().limit();
        (heap, statistics, limit, RecordedHistory::of(whole.observer.recorder()))
    });
    let RecordedHistory { events, dropped, refusal } = recorded;
    snapshot.segments.extend(names.segments(device.index(), &heap, &events));
    snapshot.device_traces.push(events.iter().map(|event| names.entry(event)).collect());
    snapshot.devices.push(DeviceSnapshot {
        device: device.index(),
        name,
        total: memory.map_or(0, |memory| memory.total as u64),
        free: memory.map_or(0, |memory| memory.free as u64),
        policy: device::policy_in_use(device).map(ToString::to_string).unwrap_or_default(),
        limit,
        statistics: statistics.entries().collect(),
        dropped_events: dropped,
        out_of_memory: refusal.map(|refusal| names.heap(device.index(), refusal, &events)),
    });
}

/// The names that a snapshot shares among its parts.
#[derive(Default)]
struct SharedNames {
    places: HashMap<&'static Location<'static>, Frames>,
    tags: HashMap<&'static str, Arc<str>>,
}

impl SharedNames {
    fn heap(
        &mut self,
        device: usize,
        refusal: LastRefusal,
        events: &[HistoryEvent],
    ) -> OutOfMemoryMoment {
        let LastRefusal { time, report, heap } = refusal;
        let segments = self.segments(device, &heap, events).collect();
        OutOfMemoryMoment { time_us: time, report, segments }
    }

    fn segments(
        &mut self,
        device: usize,
        heap: &HeapState,
        events: &[HistoryEvent],
    ) -> impl Iterator<Item = Segment> {
        let is_taken = |event: &&HistoryEvent| {
            matches!(event.what, EventKind::SegmentAlloc | EventKind::SegmentMap)
        };
        let taken = events.iter().filter(is_taken);
        let taken: HashMap<_, _> = taken.map(|event| (event.address, event.call_site)).collect();
        heap.segments.iter().map(move |segment| Segment {
            device,
            address: segment.address.0,
            total_size: segment.total_size,
            allocated_size: segment.allocated_size,
            active_size: segment.active_size,
            requested_size: segment.requested_size,
            stream: segment.stream.map_or(0, StreamId::number),
            segment_type: segment.segment_type,
            segment_pool_id: pool_id(segment.pool),
            is_expandable: segment.is_expandable,
            frames: self.frames(taken.get(&segment.address.0).copied().flatten()),
            blocks: segment.blocks.iter().map(|block| self.block(block, heap)).collect(),
        })
    }

    fn block(
        &mut self,
        block: &policy::BlockSnapshot<StreamId>,
        heap: &HeapState,
    ) -> SnapshotBlock {
        let is_active = block.state != BlockState::Inactive;
        let holder = heap.holders.get(&block.address).filter(|_| is_active);
        SnapshotBlock {
            address: block.address.0,
            size: block.size,
            requested_size: block.requested_size,
            state: block.state,
            frames: self.frames(holder.map(|holder| holder.call_site)),
            tag: self.tag(holder.map(|holder| holder.call_site)),
            age: holder.map(|holder| heap.allocations - holder.number - 1),
            time_us: holder.and_then(|holder| holder.time),
        }
    }

    fn entry(&mut self, event: &HistoryEvent) -> TraceEntry {
        let (action, device_free) = match event.what {
            EventKind::Alloc => (Action::Alloc, None),
            EventKind::FreeRequested => (Action::FreeRequested, None),
            EventKind::FreeCompleted => (Action::FreeCompleted, None),
            EventKind::SegmentAlloc => (Action::SegmentAlloc, None),
            EventKind::SegmentFree => (Action::SegmentFree, None),
            EventKind::SegmentMap => (Action::SegmentMap, None),
            EventKind::SegmentUnmap => (Action::SegmentUnmap, None),
            EventKind::OutOfMemory { free } => (Action::Oom, Some(free)),
            EventKind::Snapshot => (Action::Snapshot, None),
        };
        TraceEntry {
            action,
            address: event.address,
            size: event.bytes,
            stream: event.owner.map_or(0, |StreamAndPool { stream, .. }| stream.number()),
            pool_id: pool_id(event.owner.and_then(|owner| owner.pool)),
            time_us: event.time,
            frames: self.frames(event.call_site),
            user_metadata: self.tag(event.call_site),
            device_free,
            is_in_use: event.in_use != InUse::No,
            in_use_until_us: match event.in_use {
                InUse::Until(time) => Some(time),
                InUse::No | InUse::Yes => None,
            },
        }
    }

    fn frames(&mut self, call_site: Option<CallSite>) -> Frames {
        let Some(CallSite { location: place, .. }) = call_site else { return Frames::default() };
        let frames = self.places.entry(place).or_insert_with(|| {
            let name = format!("column {}", place.column()).into();
            let frame = Frame { filename: place.file().into(), line: place.line().into(), name };
            Arc::new([frame])
        });
        Arc::clone(frames)
    }

    fn tag(&mut self, call_site: Option<CallSite>) -> Option<Arc<str>> {
        let name = call_site?.tag?.name();
        Some(Arc::clone(self.tags.entry(name).or_insert_with(|| name.into())))
    }
}

fn pool_id(pool: Option<PoolOf>) -> (u64, u64) {
    (0, pool.map_or(0, |pool| pool.id().0))
}
