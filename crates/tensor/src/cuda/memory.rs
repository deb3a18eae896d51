//! The memory of CUDA devices: what tensors hold, what is cached, what the driver has left.

use gpu_alloc::{MemoryStats, Snapshot};

use super::physical;
use crate::{Device, Result};

/// The memory of a device as the driver sees it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemInfo {
    /// What nobody has; what this process caches is not free.
    pub free: u64,
    /// All there is.
    pub total: u64,
}

/// Free and total memory of a device as the driver sees it.
///
/// # Errors
/// `device` is not a CUDA device that there is; so for all functions here that take one.
pub fn mem_get_info(device: Device) -> Result<MemInfo> {
    let info = physical("mem_get_info", device)?.memory_info()?;
    Ok(MemInfo { free: info.free as u64, total: info.total as u64 })
}

/// The bytes that tensors hold, in blocks as they were handed out.
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

/// The bytes that the allocator has from the driver: what tensors hold and what is cached.
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

/// The statistics as a table to read.
///
/// # Errors
/// As [`mem_get_info`].
pub fn memory_summary(device: Device) -> Result<String> {
    Ok(gpu_alloc::memory_summary(physical("memory_summary", device)?))
}

/// Brings the peaks of all statistics down to the present values.
///
/// # Errors
/// As [`mem_get_info`].
pub fn reset_peak_memory_stats(device: Device) -> Result<()> {
    gpu_alloc::reset_peak_memory_stats(physical("reset_peak_memory_stats", device)?);
    Ok(())
}

/// Every segment and block that the allocator has, on all devices.
///
/// # Errors
/// None at present.
pub fn memory_snapshot() -> Result<Snapshot> {
    Ok(gpu_alloc::memory_snapshot())
}

/// Gives memory that no tensor holds back to the driver, on all devices. It waits for the work that
/// still uses such memory.
///
/// # Errors
/// A device is lost.
pub fn empty_cache() -> Result<()> {
    Ok(gpu_alloc::empty_cache()?)
}
