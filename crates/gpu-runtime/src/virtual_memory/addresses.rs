//! A reserved range of addresses, and what is mapped there.

use std::fmt;
use std::ops::Range;

use cuda_sys::{CUdeviceptr, CUresult};

use super::VirtualMemory;
use super::mappings::{self, Mappings};
use super::physical::PhysicalMemory;
use crate::device::{check, software, teardown};
use crate::error::{Error, MappingProblem, Result};
use crate::memory::out_of_memory;
use crate::types::{Device, DevicePtr};

/// Addresses of one device, from [`VirtualMemory::reserve`], given back when dropped together with
/// what is mapped there.
///
/// To unmap is not to wait: whoever enqueues work on the addresses keeps them mapped until the work
/// is done, as with a [`DeviceAllocation`](crate::DeviceAllocation). NVIDIA's driver may wait for
/// the device when it unmaps.
///
/// Work that uses the same memory by two addresses is not put in order by the addresses: give it one
/// [`Uses`](crate::Uses). The [`RaceChecker`](crate::RaceChecker) goes by the memory.
pub struct AddressRange {
    virtual_memory: VirtualMemory,
    start: DevicePtr,
    bytes: usize,
}

impl AddressRange {
    /// Says that a cache has the addresses: the software driver's list of what a program has not given
    /// back leaves them out.
    pub fn mark_cached(&self) {
        software::keep_object(self.start.address());
    }

    pub(super) fn reserve(virtual_memory: VirtualMemory, bytes: usize) -> Result<AddressRange> {
        let device = virtual_memory.device;
        if bytes == 0 || !virtual_memory.is_aligned(bytes) {
            let problem = MappingProblem::Granularity { granularity: virtual_memory.granularity() };
            let operation = "reserve addresses";
            return Err(Error::Mapping { operation, device, offset: 0, bytes, problem });
        }
        let state = virtual_memory.state();
        state.bind()?;
        let mut start: CUdeviceptr = 0;
        // SAFETY: `start` is writable.
        let result = unsafe { (virtual_memory.functions().reserve)(&mut start, bytes, 0, 0, 0) };
        if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(Error::OutOfAddresses { device, bytes });
        }
        check::on_device(state, "cuMemAddressReserve", result)?;
        Ok(AddressRange { virtual_memory, start: DevicePtr::from_address(start), bytes })
    }

    /// The first address.
    pub fn ptr(&self) -> DevicePtr {
        self.start
    }

    /// The size, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its device.
    pub fn device(&self) -> Device {
        self.virtual_memory.device
    }

    /// Maps all of `memory` at an offset from the beginning, where nothing is mapped. Nobody has
    /// access before [`set_access`](AddressRange::set_access).
    ///
    /// # Errors
    /// [`Error::Mapping`] if the range or the memory does not allow it; [`Error::OutOfMemory`] if
    /// the driver has no room for its own tables. Nothing is mapped then.
    pub fn map(&mut self, offset: usize, memory: &PhysicalMemory) -> Result<()> {
        let bytes = memory.bytes();
        let part = offset..offset.saturating_add(bytes);
        let refuse = |problem| self.refuse("map", &part, problem);
        let range = self.addresses_of(&part).map_err(refuse)?;
        if memory.device() != self.device() {
            return Err(refuse(MappingProblem::OtherDevice { memory: memory.device() }));
        }
        let mut mappings = mappings::lock();
        if mappings.is_occupied(&range) {
            return Err(refuse(MappingProblem::Occupied));
        }
        self.call("cuMemMap", bytes, || {
            // SAFETY: the addresses are reserved and free, and the memory is as large.
            unsafe {
                (self.virtual_memory.functions().map)(range.start, bytes, 0, memory.handle(), 0)
            }
        })?;
        mappings.add(range.start, memory.clone());
        Ok(())
    }

    /// Lets the device read and write a part of the range, from and up to an offset, that consists of
    /// whole mappings; and those devices too that have access to its memory
    /// ([`Device::enable_peer_access`]), now or later.
    ///
    /// # Errors
    /// [`Error::Mapping`] for any other part; [`Error::OutOfMemory`] if the driver has no room for
    /// its own tables. What is mapped stays mapped.
    pub fn set_access(&mut self, part: Range<usize>) -> Result<()> {
        let mut mappings = mappings::lock();
        let range = self.whole("set access to", &part, &mappings)?;
        let accessors = mappings::accessors(self.device());
        self.call("cuMemSetAccess", part.len(), || {
            mappings::set_access(self.virtual_memory, range.start, part.len(), &accessors)
        })?;
        mappings.open(range);
        Ok(())
    }

    /// Ends all mappings of a part of the range, from and up to an offset, which it holds as a whole.
    /// Memory that nobody holds otherwise goes back to the device. On a device that is lost, it
    /// succeeds.
    ///
    /// # Errors
    /// [`Error::Mapping`] for any other part, and the driver's. All is mapped as before then.
    pub fn unmap(&mut self, part: Range<usize>) -> Result<()> {
        let mut mappings = mappings::lock();
        let range = self.whole("unmap", &part, &mappings)?;
        let state = self.virtual_memory.state();
        state.bind_to_destroy();
        let result = self.unmap_in_driver(&range);
        let unmapped = check::on_device(state, "cuMemUnmap", result);
        if state.lost().is_none() {
            unmapped?;
        }
        let unmapped = mappings.remove(range);
        drop(mappings);
        drop(unmapped);
        Ok(())
    }

    fn unmap_in_driver(&self, range: &Range<u64>) -> CUresult {
        let bytes = (range.end - range.start) as usize;
        // SAFETY: the addresses are this range's. What uses them is the affair of whoever enqueued
        // it, unsafely.
        unsafe { (self.virtual_memory.functions().unmap)(range.start, bytes) }
    }

    /// Calls the driver, which may have no room for its tables.
    fn call(&self, call: &'static str, bytes: usize, run: impl FnOnce() -> CUresult) -> Result<()> {
        let state = self.virtual_memory.state();
        state.bind()?;
        match run() {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(out_of_memory(self.device(), bytes)?),
            result => check::on_device(state, call, result),
        }
    }

    /// The addresses of a part that consists of whole mappings.
    fn whole(
        &self,
        operation: &'static str,
        part: &Range<usize>,
        mappings: &Mappings,
    ) -> Result<Range<u64>> {
        let whole = |range: Range<u64>| match mappings.is_whole(&range) {
            true => Ok(range),
            false => Err(MappingProblem::NotWhole),
        };
        let range = self.addresses_of(part).and_then(whole);
        range.map_err(|problem| self.refuse(operation, part, problem))
    }

    /// The addresses of a part, which is not empty.
    fn addresses_of(&self, part: &Range<usize>) -> Result<Range<u64>, MappingProblem> {
        if part.is_empty() || [part.start, part.end].iter().any(|&at| !self.is_aligned(at)) {
            let granularity = self.virtual_memory.granularity();
            return Err(MappingProblem::Granularity { granularity });
        }
        if part.end > self.bytes {
            return Err(MappingProblem::OutOfRange { reserved: self.bytes });
        }
        let address = |offset: usize| self.start.offset(offset).address();
        Ok(address(part.start)..address(part.end))
    }

    fn is_aligned(&self, offset: usize) -> bool {
        self.virtual_memory.is_aligned(offset)
    }

    fn refuse(
        &self,
        operation: &'static str,
        part: &Range<usize>,
        problem: MappingProblem,
    ) -> Error {
        let (device, offset, bytes) = (self.device(), part.start, part.len());
        Error::Mapping { operation, device, offset, bytes, problem }
    }
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        let state = self.virtual_memory.state();
        let range = self.start.address()..self.start.offset(self.bytes).address();
        let mut mappings = mappings::lock();
        for run in mappings.runs(&range) {
            teardown::destroy(state, "cuMemUnmap", |_| self.unmap_in_driver(&run));
        }
        let unmapped = mappings.remove(range);
        drop(mappings);
        drop(unmapped);
        teardown::destroy(state, "cuMemAddressFree", |_| {
            // SAFETY: the range came from `cuMemAddressReserve`, and is freed here only.
            unsafe { (self.virtual_memory.functions().free)(self.start.address(), self.bytes) }
        });
    }
}

impl fmt::Debug for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AddressRange({} bytes at {:?} on {})", self.bytes, self.start, self.device())
    }
}
