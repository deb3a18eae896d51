//! Switches the memory history of all allocators on and off.

use crate::allocators::{device, pinned};
use crate::observers::history;

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
    let mut setting = history::setting();
    *setting = most;
    device::used().for_each(|(_, allocator)| {
        allocator.with_whole(|whole| whole.observer.record(*setting, whole.policy));
    });
    if let Some(allocator) = pinned::allocator_in_use() {
        allocator.with_whole(|whole| whole.observer.record(*setting, whole.policy));
    }
}
