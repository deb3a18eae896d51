//! Figures and settings of the memory of CUDA devices (`torch.cuda.memory`).

use gpu_alloc::{MemoryStats, PolicyInUse, Snapshot};

use super::physical;
use crate::{Device, Result};

/// The memory of a device as the driver sees it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemInfo {
    /// The memory that no process has. Memory that this process caches does not count as free.
    pub free: u64,
    /// All memory of the device.
    pub total: u64,
}

/// Free and total memory of a device as the driver sees it.
///
/// # Errors
/// `device` is not a CUDA device, or does not exist.
pub fn mem_get_info(device: Device) -> Result<MemInfo> {
    let info = physical("mem_get_info", device)?.memory_info()?;
    Ok(MemInfo { free: info.free as u64, total: info.total as u64 })
}

/// The bytes that tensors hold, rounded up to the blocks that the allocator handed out.
///
/// # Errors
/// As [`mem_get_info`].
pub fn memory_allocated(device: Device) -> Result<u64> {
    Ok(gpu_alloc::memory_allocated(physical("memory_allocated", device)?) as u64)
}

/// The most that [`memory_allocated`] has been since the last [`reset_peak_memory_stats`].
///
/// # Errors
/// As [`mem_get_info`].
pub fn max_memory_allocated(device: Device) -> Result<u64> {
    Ok(gpu_alloc::max_memory_allocated(physical("max_memory_allocated", device)?) as u64)
}

/// The bytes that the allocator has from the driver: those that tensors hold, and those that are
/// cached.
///
/// # Errors
/// As [`mem_get_info`].
pub fn memory_reserved(device: Device) -> Result<u64> {
    Ok(gpu_alloc::memory_reserved(physical("memory_reserved", device)?) as u64)
}

/// The most that [`memory_reserved`] has been since the last [`reset_peak_memory_stats`].
///
/// # Errors
/// As [`mem_get_info`].
pub fn max_memory_reserved(device: Device) -> Result<u64> {
    Ok(gpu_alloc::max_memory_reserved(physical("max_memory_reserved", device)?) as u64)
}

/// The older name of [`memory_reserved`].
///
/// # Errors
/// As [`mem_get_info`].
pub fn memory_cached(device: Device) -> Result<u64> {
    memory_reserved(device)
}

/// The older name of [`max_memory_reserved`].
///
/// # Errors
/// As [`mem_get_info`].
pub fn max_memory_cached(device: Device) -> Result<u64> {
    max_memory_reserved(device)
}

/// All statistics of the caching allocator, by PyTorch's names.
///
/// # Errors
/// As [`mem_get_info`].
pub fn memory_stats(device: Device) -> Result<MemoryStats> {
    Ok(gpu_alloc::memory_stats(physical("memory_stats", device)?))
}

/// The statistics as a table for people.
///
/// # Errors
/// As [`mem_get_info`].
pub fn memory_summary(device: Device) -> Result<String> {
    Ok(gpu_alloc::memory_summary(physical("memory_summary", device)?))
}

/// Sets the peaks of all statistics to the present values.
///
/// # Errors
/// As [`mem_get_info`].
pub fn reset_peak_memory_stats(device: Device) -> Result<()> {
    gpu_alloc::reset_peak_memory_stats(physical("reset_peak_memory_stats", device)?);
    Ok(())
}

/// Sets the totals of allocated and freed bytes, and all counts, to 0.
///
/// # Errors
/// As [`mem_get_info`].
pub fn reset_accumulated_memory_stats(device: Device) -> Result<()> {
    let device = physical("reset_accumulated_memory_stats", device)?;
    gpu_alloc::reset_accumulated_memory_stats(device);
    Ok(())
}

/// Limits the memory that this process may take of a device, cached memory included, to a fraction
/// of the whole. Requests beyond it fail as if the device had no more.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// use tensor::{Device, Tensor, cuda};
///
/// let (device, gib) = (Device::cuda(), 1 << 30);
/// let total = cuda::mem_get_info(device)?.total as f64;
/// cuda::set_per_process_memory_fraction(gib as f64 / total, device)?;
/// let refused = Tensor::zeros([gib / 4 + 1], device).unwrap_err();
/// assert!(refused.is_out_of_memory());
/// assert_eq!(cuda::get_per_process_memory_fraction(device)?, gib as f64 / total);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// As [`mem_get_info`]; the fraction is not between 0 and 1.
pub fn set_per_process_memory_fraction(fraction: f64, device: Device) -> Result<()> {
    let device = physical("set_per_process_memory_fraction", device)?;
    Ok(gpu_alloc::set_per_process_memory_fraction(fraction, device)?)
}

/// The fraction that [`set_per_process_memory_fraction`] has set, or the environment; 1 if there is
/// no limit.
///
/// # Errors
/// As [`mem_get_info`]; the environment asks for what there is not.
pub fn get_per_process_memory_fraction(device: Device) -> Result<f64> {
    let device = physical("get_per_process_memory_fraction", device)?;
    Ok(gpu_alloc::get_per_process_memory_fraction(device)?)
}

/// The policy of a device's caching allocator (`torch.cuda.get_allocator_backend`).
/// [`set_allocator_policy`](super::set_allocator_policy) chooses another one before the first use.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// use tensor::{Device, cuda};
///
/// assert_eq!(cuda::allocator_policy(Device::cuda())?.name(), "stitched");
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// As [`mem_get_info`]; the environment asks for a policy that there is not.
pub fn allocator_policy(device: Device) -> Result<PolicyInUse> {
    Ok(gpu_alloc::allocator_policy(physical("allocator_policy", device)?)?)
}

/// Every segment and block that the allocator has, on all devices.
///
/// # Errors
/// None at present.
pub fn memory_snapshot() -> Result<Snapshot> {
    Ok(gpu_alloc::memory_snapshot())
}

/// Gives cached memory, which no tensor holds, back to the driver, on all devices. It blocks until
/// the work is done that still uses such memory.
///
/// # Errors
/// A device is lost.
pub fn empty_cache() -> Result<()> {
    Ok(gpu_alloc::empty_cache()?)
}
