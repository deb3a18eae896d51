//! What memory a pointer points to: unified addressing.

use std::sync::Arc;

use cuda_sys::CUresult;

use super::allocation::Allocation;
use super::host_memory::HostAllocation;
use super::platform::Platform;

/// Where a range of bytes lies. Holding it keeps driver-owned memory from going away.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// In one allocation on a device.
    Device(Arc<Allocation>),
    /// In page-locked host memory.
    Pinned(Arc<HostAllocation>),
    /// Anywhere else: it is taken to be the program's own memory.
    Pageable,
}

impl Location {
    /// Finds out about `bytes` bytes from an address.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null, for what wraps around, for device memory that is not
    /// allocated, and for what reaches beyond the end of an allocation.
    pub(crate) fn of(platform: &Platform, address: u64, bytes: u64) -> Result<Location, CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let end = address.checked_add(bytes).filter(|_| address != 0).ok_or(invalid)?;
        if let Some(device) = platform.device_at(address) {
            let allocation = device.memory.containing(address).ok_or(invalid)?;
            let fits = end <= allocation.range().end;
            return if fits { Ok(Location::Device(allocation)) } else { Err(invalid) };
        }
        match platform.host_memory.containing(address) {
            Some(host) if end <= host.range().end => Ok(Location::Pinned(host)),
            Some(_) => Err(invalid),
            None if platform.device_at(end.saturating_sub(1)).is_some() => Err(invalid),
            None => Ok(Location::Pageable),
        }
    }

    pub(crate) fn is_device(&self) -> bool {
        matches!(self, Location::Device(_))
    }

    pub(crate) fn is_pageable(&self) -> bool {
        matches!(self, Location::Pageable)
    }

    /// Passes the location on if kernels could reach it.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for pageable memory.
    pub(crate) fn device_accessible(self) -> Result<Location, CUresult> {
        if self.is_pageable() { Err(CUresult::CUDA_ERROR_INVALID_VALUE) } else { Ok(self) }
    }
}
