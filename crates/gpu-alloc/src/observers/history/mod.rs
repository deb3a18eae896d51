//! The memory history: what an allocator did, the last so many times.

mod frees;
mod mappings;
mod recorder;

use std::time::{SystemTime, UNIX_EPOCH};

use gpu_runtime::StreamId;
use parking_lot::{Mutex, MutexGuard};

pub(crate) use self::recorder::{HistoryRecorder, LastRefusal};
use crate::observers::CallSite;
use crate::policy::StreamAndPool;

/// The number of events of each allocator that are to be recorded. Held while allocators are made, so
/// that none misses a change.
pub(crate) fn setting() -> MutexGuard<'static, Option<usize>> {
    static SETTING: Mutex<Option<usize>> = Mutex::new(None);
    SETTING.lock()
}

/// Something that an allocator did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistoryEvent {
    pub(crate) what: EventKind,
    /// 0 where nothing has an address.
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) owner: Option<StreamAndPool<StreamId>>,
    /// The time of the event, in microseconds since 1970.
    pub(crate) time: u64,
    pub(crate) call_site: Option<CallSite>,
    pub(crate) in_use: InUse,
}

/// Whether work on other streams used memory on after a free, though it could be handed out at once, to
/// an owner who waits for that work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InUse {
    No,
    Yes,
    /// The use was seen to be over at this time, in microseconds since 1970.
    Until(u64),
}

/// Kinds of events of an allocator: see [`Action`](crate::snapshot::Action).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    OutOfMemory { free: u64 },
    Snapshot,
}

/// Microseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
