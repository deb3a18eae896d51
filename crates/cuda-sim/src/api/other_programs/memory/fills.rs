//! Fills of all widths, of rows, and those that the host waits for.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uchar, c_uint, c_ushort};

use cuda_sys::{CUdeviceptr, CUstream};

use crate::api::Result;
use crate::api::memory::fills::{FillReturns, start, start_rows};

/// The default stream, which fills without a stream go to.
const DEFAULT: CUstream = std::ptr::null_mut();

pub(in crate::api) fn cuMemsetD8_v2(to: CUdeviceptr, value: c_uchar, count: usize) -> Result {
    start(to, u32::from(value), 1, count, DEFAULT, FillReturns::Done)
}

pub(in crate::api) fn cuMemsetD16_v2(to: CUdeviceptr, value: c_ushort, count: usize) -> Result {
    start(to, u32::from(value), 2, count, DEFAULT, FillReturns::Done)
}

pub(in crate::api) fn cuMemsetD32_v2(to: CUdeviceptr, value: c_uint, count: usize) -> Result {
    start(to, value, 4, count, DEFAULT, FillReturns::Done)
}

pub(in crate::api) fn cuMemsetD16Async(
    to: CUdeviceptr,
    value: c_ushort,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, u32::from(value), 2, count, stream, FillReturns::Enqueued)
}

pub(in crate::api) fn cuMemsetD32Async(
    to: CUdeviceptr,
    value: c_uint,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, value, 4, count, stream, FillReturns::Enqueued)
}

pub(in crate::api) fn cuMemsetD2D8_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
) -> Result {
    start_rows(to, pitch, u32::from(value), 1, [width, height], DEFAULT, FillReturns::Done)
}

pub(in crate::api) fn cuMemsetD2D16_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_ushort,
    width: usize,
    height: usize,
) -> Result {
    start_rows(to, pitch, u32::from(value), 2, [width, height], DEFAULT, FillReturns::Done)
}

pub(in crate::api) fn cuMemsetD2D32_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
) -> Result {
    start_rows(to, pitch, value, 4, [width, height], DEFAULT, FillReturns::Done)
}

pub(in crate::api) fn cuMemsetD2D8Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result {
    start_rows(to, pitch, u32::from(value), 1, [width, height], stream, FillReturns::Enqueued)
}

pub(in crate::api) fn cuMemsetD2D16Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_ushort,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result {
    start_rows(to, pitch, u32::from(value), 2, [width, height], stream, FillReturns::Enqueued)
}

pub(in crate::api) fn cuMemsetD2D32Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result {
    start_rows(to, pitch, value, 4, [width, height], stream, FillReturns::Enqueued)
}
