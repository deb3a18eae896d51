//! What memory a pointer points to: unified addressing.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_sys::CUresult;
use ptx_jit::AccessKind;

use crate::device::contexts::array::Array;
use crate::device::machine::SimulatedMachine;
use crate::device::memory::allocation::GlobalAllocation;
use crate::device::memory::page_locked::PageLockedAllocation;
use crate::device::memory::protection::Protection;
use crate::device::virtual_memory::mappings::MemoryMapping;
use crate::device::virtual_memory::physical::MemoryLocation;
use crate::links::Residence;

/// The memory that a range of bytes lies in. Holding it keeps driver-owned memory from going away.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// In one allocation on a device.
    Device(Arc<GlobalAllocation>),
    /// In mappings that follow on each other, of which this is the first.
    Mapped(Arc<MemoryMapping>),
    /// In page-locked host memory.
    Pinned(Arc<PageLockedAllocation>),
    /// Anywhere else: it is taken to be the program's own memory.
    Pageable,
}

impl Location {
    /// Finds out about `bytes` bytes from an address.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null, for what wraps around, for device memory that is not
    /// allocated, and for what reaches beyond the end of an allocation.
    pub(crate) fn of(
        machine: &SimulatedMachine,
        address: u64,
        bytes: u64,
    ) -> Result<Location, CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let end = address.checked_add(bytes).filter(|_| address != 0).ok_or(invalid)?;
        if let Some(device) = machine.device_at(address) {
            if device.memory.is_reserved_part(address) {
                let mapped = machine.virtual_memory.all(&(address..end), |_| true);
                let first = machine.virtual_memory.containing(address);
                return first.filter(|_| mapped).map(Location::Mapped).ok_or(invalid);
            }
            let allocation = device.memory.containing(address).ok_or(invalid)?;
            let fits = end <= allocation.range().end;
            return if fits { Ok(Location::Device(allocation)) } else { Err(invalid) };
        }
        match machine.host_memory.containing(address) {
            Some(host) if end <= host.range().end => Ok(Location::Pinned(host)),
            Some(_) => Err(invalid),
            None if machine.device_at(end.saturating_sub(1)).is_some() => Err(invalid),
            None => Ok(Location::Pageable),
        }
    }

    /// The location of an array.
    pub(crate) fn of_array(array: &Array) -> Location {
        Location::Device(Arc::clone(array.memory()))
    }

    /// The location as links and virtual time see it.
    pub(crate) fn site(&self) -> Residence {
        match self {
            Location::Device(allocation) => Residence::Device(allocation.device.ordinal as usize),
            Location::Mapped(mapping) => match mapping.physical.place {
                MemoryLocation::Device(ordinal) => Residence::Device(ordinal as usize),
                MemoryLocation::Host | MemoryLocation::HostNode => Residence::Pinned,
            },
            Location::Pinned(_) => Residence::Pinned,
            Location::Pageable => Residence::Pageable,
        }
    }

    pub(crate) fn is_device(&self) -> bool {
        self.device().is_some()
    }

    /// The ordinal of the device on which it is.
    pub(crate) fn device(&self) -> Option<u32> {
        match self {
            Location::Device(allocation) => Some(allocation.device.ordinal),
            Location::Mapped(mapping) => match mapping.physical.place {
                MemoryLocation::Device(ordinal) => Some(ordinal),
                MemoryLocation::Host | MemoryLocation::HostNode => None,
            },
            Location::Pinned(_) | Location::Pageable => None,
        }
    }

    /// Passes the location of a range on if a copy or fill that the device of that ordinal makes
    /// may access it so. Mapped memory and that of pools needs access for that, and registered
    /// memory may be read-only.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`.
    pub(crate) fn open_to(
        self,
        machine: &SimulatedMachine,
        ordinal: u32,
        range: Range<u64>,
        access: AccessKind,
    ) -> Result<Location, CUresult> {
        let permits = |mapping: &MemoryMapping| {
            mapping.permits(ordinal, access) || mapping.host_protection() == Protection::ReadWrite
        };
        let open = match &self {
            Location::Mapped(_) => machine.virtual_memory.all(&range, permits),
            Location::Device(allocation) => match &allocation.pool {
                Some(pool) => pool.access(ordinal).permits(access),
                None => true,
            },
            Location::Pinned(host) => host.permits(access),
            Location::Pageable => true,
        };
        if open { Ok(self) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
    }

    /// Whether the program asked for calls to wait that do not wait otherwise.
    pub(crate) fn is_synchronous(&self) -> bool {
        match self {
            Location::Device(allocation) => allocation.synchronous.load(Ordering::Acquire),
            _ => false,
        }
    }

    /// Whether the host may touch it as devices do.
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self, Location::Device(allocation) if allocation.managed.is_some())
    }

    pub(crate) fn is_page_locked(&self) -> bool {
        matches!(self, Location::Pinned(_))
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
