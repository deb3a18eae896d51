//! The memory history: what an allocator did, the last so many times.

mod frees;
mod mappings;
mod recorder;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use gpu_runtime::StreamId;

pub(crate) use self::recorder::{LastRefusal, Recorder};
use crate::device;
use crate::holders::Origin;
use crate::pinned;
use crate::policy::Home;

/// Records what the devices' allocators and that of page-locked memory do from now on: the last `most`
/// events of each, for [`memory_snapshot`](crate::memory_snapshot). `None` ends that, and forgets them.
///
/// The events are PyTorch's: see [`Action`](crate::snapshot::Action). Each has the time, the stream,
/// the place in the source and the [tag](crate::memory_tag). A call while it is on keeps what is
/// recorded.
///
/// Off, as it is at first, it costs a branch under a lock that is held anyway. On, it costs some 100
/// bytes and the reading of a clock per event; and all requests and frees take the allocator's lock,
/// also those that Sluice's policy serves without it otherwise: a pair of both takes about four times
/// as long. [Who holds what](crate::OutOfMemory::holders) is known
/// without it.
///
/// ```
/// use gpu_alloc::snapshot::Action;
///
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// gpu_alloc::record_memory_history(Some(100_000));
/// let device = gpu_runtime::Device::get(0)?;
/// drop(gpu_alloc::allocate(device, 1000, &device.current_stream()?)?);
/// let snapshot = gpu_alloc::memory_snapshot();
/// let actions: Vec<_> = snapshot.device_traces[0].iter().map(|entry| entry.action).collect();
/// let of_the_block = [Action::Alloc, Action::FreeRequested, Action::FreeCompleted];
/// assert!(actions.windows(3).any(|some| some == of_the_block));
/// gpu_alloc::record_memory_history(None);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
pub fn record_memory_history(most: Option<usize>) {
    let mut setting = setting();
    *setting = most;
    device::used().for_each(|(_, cache)| {
        let state = &mut *cache.lock();
        state.watch.record(*setting, &state.policy);
    });
    if let Some(cache) = pinned::cache_in_use() {
        let state = &mut *cache.lock();
        state.watch.record(*setting, &state.policy);
    }
}

/// How many events of each allocator are to be recorded. Held while allocators are made, so that none
/// misses a change.
pub(crate) fn setting() -> MutexGuard<'static, Option<usize>> {
    static SETTING: Mutex<Option<usize>> = Mutex::new(None);
    SETTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that an allocator did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) what: What,
    /// 0 where nothing has an address.
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) home: Option<Home<StreamId>>,
    /// In microseconds since 1970.
    pub(crate) time: u64,
    pub(crate) origin: Option<Origin>,
    pub(crate) in_use: InUse,
}

/// Whether work on other streams used memory on after a free, though it could be handed out at once, to
/// an owner who waits for that work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InUse {
    No,
    Yes,
    /// In microseconds since 1970, as far as it was asked.
    Until(u64),
}

/// What an allocator did: see [`Action`](crate::snapshot::Action).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
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
