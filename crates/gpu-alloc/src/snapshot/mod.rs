//! Pictures of memory: segments, blocks, who holds them, and what happened before.
//!
//! A [`Snapshot`] is plain data under PyTorch's names. [`memory_snapshot`] makes one of this
//! process's memory; [`Snapshot::from_pickle`] reads one that PyTorch has written, and
//! [`Snapshot::to_pickle`] writes one that PyTorch's viewers read.

mod export;
mod file;
mod import;
mod page;
mod recording;
mod replay;
mod take;

use std::sync::Arc;

pub use self::file::dump_snapshot;
pub use self::import::SnapshotError;
pub use self::recording::record_memory_history;
pub use self::take::memory_snapshot;
use crate::policy::PoolId;
pub use crate::policy::{BlockState, Pool};

/// All memory that the allocators have taken from the driver, at one moment for each device and for
/// page-locked memory.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The segments, by device and address.
    pub segments: Vec<Segment>,
    /// The events of each device's allocator, oldest first; empty where the
    /// [history](crate::record_memory_history) was off.
    pub device_traces: Vec<Vec<TraceEntry>>,
    /// Other facts about the devices; empty in a snapshot of PyTorch's.
    pub devices: Vec<DeviceSnapshot>,
    /// The page-locked memory of the host; nothing if none was used, or in a snapshot of PyTorch's.
    pub host: Option<HostSnapshot>,
}

/// The page-locked memory of the host. Its parts are as those of a device, but for streams, which it
/// does not belong to: they are 0.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct HostSnapshot {
    /// The segments, by address.
    pub segments: Vec<Segment>,
    /// The events of its allocator, oldest first; empty where the
    /// [history](crate::record_memory_history) was off.
    pub trace: Vec<TraceEntry>,
    /// Other facts about it: the limit, and the statistics, as
    /// [`HostMemoryStats::entries`](crate::HostMemoryStats::entries) has them.
    pub state: DeviceSnapshot,
}

/// A piece of memory that was taken from the driver at once, or that is mapped without a gap. Sizes
/// are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The device's index; 0 for the host.
    pub device: usize,
    /// The first byte.
    pub address: u64,
    /// The size of all blocks together.
    pub total_size: u64,
    /// The part that the program holds.
    pub allocated_size: u64,
    /// The part that the program holds, or has freed while other streams still use it.
    pub active_size: u64,
    /// The bytes that were asked for, of the active part, before rounding.
    pub requested_size: u64,
    /// The stream that the memory is handed out to: its number, 0 for the default stream.
    pub stream: u64,
    /// Whether it serves small or large requests.
    pub segment_type: Pool,
    /// The pool that is kept apart for graphs; zeros if it belongs to none.
    pub segment_pool_id: (u64, u64),
    /// Whether it consists of pages that are mapped and unmapped one by one.
    pub is_expandable: bool,
    /// The call stack that caused it to be taken, as far as the history knows.
    pub frames: Frames,
    /// The blocks, by address; they fill the segment.
    pub blocks: Vec<SnapshotBlock>,
}

/// A part of a segment. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotBlock {
    /// The first byte.
    pub address: u64,
    /// The size.
    pub size: u64,
    /// The bytes that were asked for; 0 when inactive.
    pub requested_size: u64,
    /// Its state.
    pub state: BlockState,
    /// The call stack that asked for it; empty when inactive.
    pub frames: Frames,
    /// Its purpose: the [tag](crate::memory_tag).
    pub tag: Option<Arc<str>>,
    /// The number of allocations of the device since.
    pub age: Option<u64>,
    /// The time at which it was handed out, in microseconds since 1970, if the history was on.
    pub time_us: Option<u64>,
}

/// Something that an allocator did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEntry {
    /// The kind of event.
    pub action: Action,
    /// The first byte of the memory; 0 where it is about none.
    pub address: u64,
    /// The bytes: those asked for, of blocks; those of the driver, of segments.
    pub size: u64,
    /// The stream's number, 0 for the default stream.
    pub stream: u64,
    /// The pool that is kept apart for graphs, or zeros.
    pub pool_id: (u64, u64),
    /// The time, in microseconds since 1970.
    pub time_us: u64,
    /// The call stack that asked for it.
    pub frames: Frames,
    /// The purpose of the memory: its [tag](crate::memory_tag).
    pub user_metadata: Option<Arc<str>>,
    /// The bytes that the driver had left, if the event is an out-of-memory.
    pub device_free: Option<u64>,
    /// Whether the event is a free of memory that work on other streams still used. It could be
    /// handed out at once, to an owner who comes after that work; PyTorch's policies complete such a
    /// free later.
    pub is_in_use: bool,
    /// The time at which this work was seen to be over, in microseconds since 1970.
    pub in_use_until_us: Option<u64>,
}

/// Kinds of events of an allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Memory was handed out.
    Alloc,
    /// The program gave memory back.
    FreeRequested,
    /// No stream uses that memory any more, so that it can be handed out again.
    FreeCompleted,
    /// Memory was taken from the driver.
    SegmentAlloc,
    /// Memory went back to the driver.
    SegmentFree,
    /// Pages were mapped.
    SegmentMap,
    /// Pages were unmapped.
    SegmentUnmap,
    /// A request was refused for good.
    Oom,
    /// A snapshot was taken.
    Snapshot,
    /// Something that only other recorders write down, such as an annotation.
    Other,
}

/// A call stack, the innermost call first. This crate knows one call; PyTorch records whole stacks.
pub type Frames = Arc<[Frame]>;

/// A place in a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// The source file.
    pub filename: Arc<str>,
    /// The line, from 1.
    pub line: u64,
    /// The function; of a place in Rust, the column.
    pub name: Arc<str>,
}

/// The facts about a device in a snapshot, besides its memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceSnapshot {
    /// The device's index.
    pub device: usize,
    /// Its name.
    pub name: String,
    /// Its memory in bytes.
    pub total: u64,
    /// The bytes that the driver has left of it.
    pub free: u64,
    /// The [policy](crate::allocator_policy) of its allocator; empty for page-locked memory.
    pub policy: String,
    /// The bytes of it that this process may take, if that is limited.
    pub limit: Option<u64>,
    /// The statistics, as [`MemoryStats::entries`](crate::MemoryStats::entries) has them.
    pub statistics: Vec<(String, u64)>,
    /// The number of events of the history that were dropped for newer ones.
    pub dropped_events: u64,
    /// The last time that the device was out of memory while the history was on.
    pub out_of_memory: Option<OutOfMemoryMoment>,
}

/// The moment of an out-of-memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutOfMemoryMoment {
    /// The time, in microseconds since 1970.
    pub time_us: u64,
    /// The text of the error.
    pub report: String,
    /// The device's memory then.
    pub segments: Vec<Segment>,
}

impl Snapshot {
    /// The part of it that concerns one pool, on all devices: segments and events. What is known of the
    /// devices and of page-locked memory is left out.
    ///
    /// PyTorch's pools with such names are those that programs make; captures' own have others.
    #[must_use]
    pub fn of_pool(mut self, pool: PoolId) -> Snapshot {
        let name = (0, pool.0);
        self.segments.retain(|segment| segment.segment_pool_id == name);
        for trace in &mut self.device_traces {
            trace.retain(|entry| entry.pool_id == name);
        }
        Snapshot { devices: Vec::new(), host: None, ..self }
    }
}

impl Action {
    /// PyTorch's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Action::Alloc => "alloc",
            Action::FreeRequested => "free_requested",
            Action::FreeCompleted => "free_completed",
            Action::SegmentAlloc => "segment_alloc",
            Action::SegmentFree => "segment_free",
            Action::SegmentMap => "segment_map",
            Action::SegmentUnmap => "segment_unmap",
            Action::Oom => "oom",
            Action::Snapshot => "snapshot",
            Action::Other => "other",
        }
    }

    /// The action that PyTorch calls so.
    pub fn of_name(name: &str) -> Action {
        let known = [
            Action::Alloc,
            Action::FreeRequested,
            Action::FreeCompleted,
            Action::SegmentAlloc,
            Action::SegmentFree,
            Action::SegmentMap,
            Action::SegmentUnmap,
            Action::Oom,
            Action::Snapshot,
        ];
        known.into_iter().find(|action| action.name() == name).unwrap_or(Action::Other)
    }
}
