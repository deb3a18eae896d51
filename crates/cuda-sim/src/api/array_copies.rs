//! Copies of one row of an array.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_void;

use cuda_sys::{CUarray, CUdeviceptr, CUstream};

use super::Result;
use super::copy::DEFAULT;
use super::rows::{Side, start};
use crate::device::copy::Returns;

pub(super) unsafe fn cuMemcpyAtoA_v2(
    to: CUarray,
    to_offset: usize,
    from: CUarray,
    from_offset: usize,
    bytes: usize,
) -> Result {
    let (to, from) = (Side::array(to, to_offset), Side::array(from, from_offset));
    // SAFETY: the caller's promise.
    unsafe { start(to, from, [bytes, 1, 1], DEFAULT, Returns::Done) }
}

pub(super) unsafe fn cuMemcpyAtoD_v2(
    to: CUdeviceptr,
    from: CUarray,
    offset: usize,
    bytes: usize,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        start(Side::device(to), Side::array(from, offset), [bytes, 1, 1], DEFAULT, Returns::Done)
    }
}

pub(super) unsafe fn cuMemcpyDtoA_v2(
    to: CUarray,
    offset: usize,
    from: CUdeviceptr,
    bytes: usize,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        start(Side::array(to, offset), Side::device(from), [bytes, 1, 1], DEFAULT, Returns::Done)
    }
}

pub(super) unsafe fn cuMemcpyAtoH_v2(
    to: *mut c_void,
    from: CUarray,
    offset: usize,
    bytes: usize,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        start(Side::host(to), Side::array(from, offset), [bytes, 1, 1], DEFAULT, Returns::Done)
    }
}

pub(super) unsafe fn cuMemcpyHtoA_v2(
    to: CUarray,
    offset: usize,
    from: *const c_void,
    bytes: usize,
) -> Result {
    let from = Side::host(from.cast_mut());
    // SAFETY: the caller's promise.
    unsafe { start(Side::array(to, offset), from, [bytes, 1, 1], DEFAULT, Returns::Done) }
}

pub(super) unsafe fn cuMemcpyAtoHAsync_v2(
    to: *mut c_void,
    from: CUarray,
    offset: usize,
    bytes: usize,
    stream: CUstream,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        start(Side::host(to), Side::array(from, offset), [bytes, 1, 1], stream, Returns::Enqueued)
    }
}

pub(super) unsafe fn cuMemcpyHtoAAsync_v2(
    to: CUarray,
    offset: usize,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> Result {
    let from = Side::host(from.cast_mut());
    // SAFETY: the caller's promise.
    unsafe { start(Side::array(to, offset), from, [bytes, 1, 1], stream, Returns::Enqueued) }
}
