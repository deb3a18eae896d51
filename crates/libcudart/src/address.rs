//! Addresses as pointers, which the runtime API has, and as numbers, which the driver has.

use std::ffi::c_void;

use cuda_sys::CUdeviceptr;

/// The driver's form of an address.
pub(crate) fn address<T>(pointer: *const T) -> CUdeviceptr {
    pointer.expose_provenance() as CUdeviceptr
}

/// The place where the driver writes an address.
pub(crate) fn out(pointer: *mut *mut c_void) -> *mut CUdeviceptr {
    pointer.cast()
}
