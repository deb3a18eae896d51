//! Memory that copies read and write.

use std::ffi::c_void;

use cuda_sys::CUdeviceptr;

use super::{FromC, number};
use crate::api::Result;

/// The address that a copy begins at, in device memory or in the host's: as many bytes as the call
/// says can be read or written there until the copy is done.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::api) struct CopyAddress(CUdeviceptr);

impl CopyAddress {
    pub(in crate::api) fn address(self) -> u64 {
        self.0
    }

    fn of_host(pointer: *const c_void) -> CopyAddress {
        // A worker will make a pointer of the address.
        pointer.expose_provenance();
        CopyAddress(number(pointer.cast_mut()))
    }
}

impl FromC<CUdeviceptr> for CopyAddress {
    unsafe fn decode(given: CUdeviceptr) -> Result<CopyAddress> {
        Ok(CopyAddress(given))
    }
}

impl FromC<*const c_void> for CopyAddress {
    unsafe fn decode(given: *const c_void) -> Result<CopyAddress> {
        Ok(CopyAddress::of_host(given))
    }
}

impl FromC<*mut c_void> for CopyAddress {
    unsafe fn decode(given: *mut c_void) -> Result<CopyAddress> {
        Ok(CopyAddress::of_host(given))
    }
}
