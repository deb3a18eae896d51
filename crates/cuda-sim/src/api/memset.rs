//! Fills.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uchar, c_uint, c_ushort};

use cuda_sys::{CUdeviceptr, CUresult, CUstream};

use super::Result;
use super::arguments;
use crate::device::copy::End;
use crate::device::{Location, fill, platform};
use crate::exec::Access;

/// The default stream, which fills without a stream go to.
const DEFAULT: CUstream = std::ptr::null_mut();

/// Whether the call waits where page-locked host memory or managed memory is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Wait,
    Enqueue,
}

pub(super) unsafe fn cuMemsetD8_v2(to: CUdeviceptr, value: c_uchar, count: usize) -> Result {
    start(to, u32::from(value), 1, count, DEFAULT, Host::Wait)
}

pub(super) unsafe fn cuMemsetD16_v2(to: CUdeviceptr, value: c_ushort, count: usize) -> Result {
    start(to, u32::from(value), 2, count, DEFAULT, Host::Wait)
}

pub(super) unsafe fn cuMemsetD32_v2(to: CUdeviceptr, value: c_uint, count: usize) -> Result {
    start(to, value, 4, count, DEFAULT, Host::Wait)
}

pub(super) unsafe fn cuMemsetD8Async(
    to: CUdeviceptr,
    value: c_uchar,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, u32::from(value), 1, count, stream, Host::Enqueue)
}

pub(super) unsafe fn cuMemsetD16Async(
    to: CUdeviceptr,
    value: c_ushort,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, u32::from(value), 2, count, stream, Host::Enqueue)
}

pub(super) unsafe fn cuMemsetD32Async(
    to: CUdeviceptr,
    value: c_uint,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, value, 4, count, stream, Host::Enqueue)
}

fn start(
    to: CUdeviceptr,
    value: u32,
    size: u64,
    count: usize,
    stream: CUstream,
    host: Host,
) -> Result {
    let platform = platform()?;
    let stream = arguments::capturable(platform, stream)?;
    if count == 0 {
        return Ok(());
    }
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let count = count as u64;
    let bytes = count.checked_mul(size).ok_or(invalid)?;
    if !to.is_multiple_of(size) {
        return Err(invalid);
    }
    let location = Location::of(platform, to, bytes)?.device_accessible()?;
    let device = stream.context().device.id.ordinal;
    let location = location.open_to(platform, device, to..to + bytes, Access::Write)?;
    let is_waited_for = !location.is_device() || location.is_managed() || location.is_synchronous();
    let waits = host == Host::Wait && is_waited_for;
    let point = fill(End { address: to, location }, value, size, count, &stream)?;
    if let Some(point) = point.filter(|_| waits) {
        stream.queue().wait(&point);
    }
    stream.context().check()
}
