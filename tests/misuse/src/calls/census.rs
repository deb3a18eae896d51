//! The objects that are allocated, and the way back to the settings that a process begins with.

use gpu_runtime::{Device, DeviceAllocation, HostAllocation, WaitMode, set_wait_mode};
use tensor::DType;
use tensor::cuda;

/// Memory that is allocated. What allocators keep for later is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Census {
    /// On each device, what the caching allocator has handed out, in bytes.
    device: [usize; 2],
    /// Allocations that were taken from the driver beside it, on all devices. Modules are not among
    /// them: they stay for the kernels' next launch.
    raw_device: u64,
    /// Page-locked memory that the caching allocator has handed out, in bytes.
    pinned: u64,
    /// Pieces of page-locked memory that were taken from the driver beside it.
    raw_pinned: u64,
}

impl Census {
    /// The objects that live now; `None` if a device is lost.
    pub(crate) fn take() -> Option<Census> {
        let devices = [Device::get(0).ok()?, Device::get(1).ok()?];
        let counters = cuda_sim::control::counters();
        let host = gpu_alloc::host_memory_stats();
        // Where memory is mapped page by page, what the caching allocator takes is no allocation.
        let is_mapped = devices[0].virtual_memory().ok()?.is_some();
        let cached = |device| gpu_alloc::memory_stats(device).segment.all.current;
        let cached = if is_mapped { 0 } else { devices.map(cached).iter().sum() };
        Some(Census {
            device: devices.map(gpu_alloc::memory_allocated),
            raw_device: (counters.allocations as u64).saturating_sub(cached),
            pinned: host.active_bytes.current,
            raw_pinned: (counters.host_allocations as u64).saturating_sub(host.allocations.current),
        })
    }

    /// The objects that live once all work is done, and those that waited for it are dropped.
    pub(crate) fn settled(expected: &Census) -> Option<Census> {
        for device in [0, 1] {
            Device::get(device).ok()?.synchronize().ok()?;
        }
        let mut census = Census::take()?;
        // What is freed late goes when somebody asks for memory, or for all that is kept.
        if census != *expected {
            gpu_alloc::empty_cache().ok()?;
            gpu_alloc::empty_host_cache();
            // What was dropped while work used it goes where such memory is allocated.
            drop(HostAllocation::new(1).ok()?);
            for device in [0, 1] {
                drop(DeviceAllocation::new(Device::get(device).ok()?, 1).ok()?);
            }
            census = Census::take()?;
        }
        Some(census)
    }
}

/// Makes the settings of thread and process what they were at the start.
pub(crate) fn restore() {
    set_wait_mode(WaitMode::Off);
    drop(gpu_runtime::take_waits());
    drop(gpu_runtime::take_drop_errors());
    let _ = tensor::set_default_device(tensor::Device::Cpu);
    let _ = tensor::set_default_dtype(DType::F32);
    let _ = cuda::set_device(0);
    gpu_alloc::record_memory_history(None);
    gpu_alloc::set_pinned_limit(64 << 20);
    let _ = gpu_alloc::set_pinned_cache_limit(64 << 20);
    for index in [0, 1] {
        let _ = cuda::set_per_process_memory_fraction(1.0, tensor::Device::cuda_at(index));
    }
}
