//! The devices' memory statistics, by PyTorch's names. All are 0 for a device on which nothing was
//! allocated.

use gpu_runtime::Device;

use crate::allocators::DevicePolicy;
use crate::allocators::device::{self, DeviceMemorySource};
use crate::cache::WholeState;
use crate::observers::AllocationTracker;
use crate::policy::{Inspect, MemoryStats};

/// The bytes that the program holds on a device, rounded as they were handed out.
pub fn memory_allocated(device: Device) -> usize {
    read(device, |stats| stats.allocated_bytes.all.current)
}

/// The most that [`memory_allocated`] has been since [`reset_peak_memory_stats`].
pub fn max_memory_allocated(device: Device) -> usize {
    read(device, |stats| stats.allocated_bytes.all.peak)
}

/// The bytes that the allocator has taken from the driver: what the program holds, and what is
/// cached.
pub fn memory_reserved(device: Device) -> usize {
    read(device, |stats| stats.reserved_bytes.all.current)
}

/// The most that [`memory_reserved`] has been since [`reset_peak_memory_stats`].
pub fn max_memory_reserved(device: Device) -> usize {
    read(device, |stats| stats.reserved_bytes.all.peak)
}

/// All statistics of a device's memory.
pub fn memory_stats(device: Device) -> MemoryStats {
    device::allocator_in_use(device)
        .map(|allocator| allocator.with_whole(|whole| complete(&whole)))
        .unwrap_or_default()
}

/// Sets the peaks of all statistics of a device to the current values.
pub fn reset_peak_memory_stats(device: Device) {
    if let Some(allocator) = device::allocator_in_use(device) {
        allocator.with_whole(|whole| whole.policy.reset_peak_statistics());
    }
}

/// Sets the totals of what was allocated and freed on a device, and all counts, to 0.
pub fn reset_accumulated_memory_stats(device: Device) {
    if let Some(allocator) = device::allocator_in_use(device) {
        allocator.with_whole(|whole| {
            whole.policy.reset_accumulated_statistics();
            (*whole.waits, *whole.refusals) = (0, 0);
        });
    }
}

fn read(device: Device, value: impl Fn(&MemoryStats) -> u64) -> usize {
    let allocator = device::allocator_in_use(device);
    allocator.map_or(0, |allocator| allocator.with_whole(|whole| value(&whole.policy.statistics())))
        as usize
}

/// The policy's statistics, with what only who runs it can count.
pub(crate) fn complete(
    whole: &WholeState<'_, DevicePolicy, DeviceMemorySource, AllocationTracker>,
) -> MemoryStats {
    let mut stats = whole.policy.statistics();
    (stats.num_sync_all_streams, stats.num_ooms) = (*whole.waits, *whole.refusals);
    stats.reserved_bytes_by_private_pools = whole.policy.reserved_by_pool();
    stats
}
