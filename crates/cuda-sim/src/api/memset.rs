//! Fills.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uchar, c_uint, c_ushort};

use cuda_sys::{CUdeviceptr, CUresult, CUstream};

use super::Result;
use super::arguments;
use crate::device::rows::{Extent, Rows, fill_rows};
use crate::device::{Location, platform};
use crate::exec::Access;

/// The default stream, which fills without a stream go to.
const DEFAULT: CUstream = std::ptr::null_mut();

/// Whether the call waits where page-locked host memory or managed memory is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Wait,
    Enqueue,
}

pub(super) fn cuMemsetD8_v2(to: CUdeviceptr, value: c_uchar, count: usize) -> Result {
    start(to, u32::from(value), 1, count, DEFAULT, Host::Wait)
}

pub(super) fn cuMemsetD16_v2(to: CUdeviceptr, value: c_ushort, count: usize) -> Result {
    start(to, u32::from(value), 2, count, DEFAULT, Host::Wait)
}

pub(super) fn cuMemsetD32_v2(to: CUdeviceptr, value: c_uint, count: usize) -> Result {
    start(to, value, 4, count, DEFAULT, Host::Wait)
}

pub(super) fn cuMemsetD8Async(
    to: CUdeviceptr,
    value: c_uchar,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, u32::from(value), 1, count, stream, Host::Enqueue)
}

pub(super) fn cuMemsetD16Async(
    to: CUdeviceptr,
    value: c_ushort,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, u32::from(value), 2, count, stream, Host::Enqueue)
}

pub(super) fn cuMemsetD32Async(
    to: CUdeviceptr,
    value: c_uint,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, value, 4, count, stream, Host::Enqueue)
}

pub(super) fn cuMemsetD2D8_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
) -> Result {
    start_rows(to, pitch, u32::from(value), 1, [width, height], DEFAULT, Host::Wait)
}

pub(super) fn cuMemsetD2D16_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_ushort,
    width: usize,
    height: usize,
) -> Result {
    start_rows(to, pitch, u32::from(value), 2, [width, height], DEFAULT, Host::Wait)
}

pub(super) fn cuMemsetD2D32_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
) -> Result {
    start_rows(to, pitch, value, 4, [width, height], DEFAULT, Host::Wait)
}

pub(super) fn cuMemsetD2D8Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result {
    start_rows(to, pitch, u32::from(value), 1, [width, height], stream, Host::Enqueue)
}

pub(super) fn cuMemsetD2D16Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_ushort,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result {
    start_rows(to, pitch, u32::from(value), 2, [width, height], stream, Host::Enqueue)
}

pub(super) fn cuMemsetD2D32Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result {
    start_rows(to, pitch, value, 4, [width, height], stream, Host::Enqueue)
}

fn start(
    to: CUdeviceptr,
    value: u32,
    size: u64,
    count: usize,
    stream: CUstream,
    host: Host,
) -> Result {
    start_rows(to, 0, value, size, [count, 1], stream, host)
}

/// Rows of `width` values of `size` bytes each.
fn start_rows(
    to: CUdeviceptr,
    pitch: usize,
    value: u32,
    size: u64,
    shape: [usize; 2],
    stream: CUstream,
    host: Host,
) -> Result {
    let platform = platform()?;
    let stream = arguments::capturable(platform, stream)?;
    if shape.contains(&0) {
        return Ok(());
    }
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let ([count, height], pitch) = (shape.map(|extent| extent as u64), pitch as u64);
    let width = count.checked_mul(size).ok_or(invalid)?;
    let wrong_pitch = height > 1 && (pitch < width || !pitch.is_multiple_of(size));
    if !to.is_multiple_of(size) || wrong_pitch {
        return Err(invalid);
    }
    let extent = Extent { width, height, depth: 1 };
    let span = Rows::span(pitch, height, extent).ok_or(invalid)?;
    let location = Location::of(platform, to, span)?.device_accessible()?;
    let device = stream.context().device.id.ordinal;
    let location = location.open_to(platform, device, to..to + span, Access::Write)?;
    let is_waited_for = !location.is_device() || location.is_managed() || location.is_synchronous();
    let waits = host == Host::Wait && is_waited_for;
    let rows = Rows { address: to, pitch, rows: height, location };
    let point = fill_rows(rows, value, size, [count, height], &stream)?;
    if let Some(point) = point.filter(|_| waits) {
        stream.wait(&point);
    }
    stream.context().check()
}
