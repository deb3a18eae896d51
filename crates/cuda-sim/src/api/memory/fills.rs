//! Asynchronous fills with bytes, and fills of rows in general.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uchar;

use cuda_sys::{CUdeviceptr, CUresult, CUstream};
use ptx_jit::AccessKind;

use crate::api::{Result, arguments};
use crate::device::pitched::{Extent, PitchedPointer, fill_2d};
use crate::device::{Location, machine};

/// The moment at which a call that fills returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum FillReturns {
    /// Once the fill is done, if page-locked host memory or managed memory is concerned.
    Done,
    /// At once.
    Enqueued,
}

pub(in crate::api) fn cuMemsetD8Async(
    to: CUdeviceptr,
    value: c_uchar,
    count: usize,
    stream: CUstream,
) -> Result {
    start(to, u32::from(value), 1, count, stream, FillReturns::Enqueued)
}

pub(in crate::api) fn start(
    to: CUdeviceptr,
    value: u32,
    size: u64,
    count: usize,
    stream: CUstream,
    returns: FillReturns,
) -> Result {
    start_rows(to, 0, value, size, [count, 1], stream, returns)
}

/// Rows of `width` values of `size` bytes each.
pub(in crate::api) fn start_rows(
    to: CUdeviceptr,
    pitch: usize,
    value: u32,
    size: u64,
    shape: [usize; 2],
    stream: CUstream,
    returns: FillReturns,
) -> Result {
    let machine = machine()?;
    let stream = arguments::capturable(machine, stream)?;
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
    let span = PitchedPointer::span(pitch, height, extent).ok_or(invalid)?;
    let location = Location::of(machine, to, span)?.device_accessible()?;
    let device = stream.context().device.id.ordinal;
    let location = location.open_to(machine, device, to..to + span, AccessKind::Write)?;
    let is_waited_for = !location.is_device() || location.is_managed() || location.is_synchronous();
    let waits = returns == FillReturns::Done && is_waited_for;
    let rows = PitchedPointer { address: to, pitch, rows: height, location };
    let point = fill_2d(rows, value, size, [count, height], &stream)?;
    if let Some(point) = point.filter(|_| waits) {
        stream.wait(&point);
    }
    stream.context().check()
}
