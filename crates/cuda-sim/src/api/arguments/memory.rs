//! Memory that copies read and write.

use std::ffi::c_void;

use cuda_sys::CUdeviceptr;

use super::{Argument, number};
use crate::api::Result;

/// Where a copy begins to read or write, in device memory or in the host's: as many bytes as the
/// call says can be accessed there until the copy is done.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::api) struct Memory(CUdeviceptr);

impl Memory {
    pub(in crate::api) fn address(self) -> u64 {
        self.0
    }

    fn of_host(pointer: *const c_void) -> Memory {
        // A worker will make a pointer of the address.
        pointer.expose_provenance();
        Memory(number(pointer.cast_mut()))
    }
}

impl Argument<CUdeviceptr> for Memory {
    unsafe fn decode(given: CUdeviceptr) -> Result<Memory> {
        Ok(Memory(given))
    }
}

impl Argument<*const c_void> for Memory {
    unsafe fn decode(given: *const c_void) -> Result<Memory> {
        Ok(Memory::of_host(given))
    }
}

impl Argument<*mut c_void> for Memory {
    unsafe fn decode(given: *mut c_void) -> Result<Memory> {
        Ok(Memory::of_host(given))
    }
}
