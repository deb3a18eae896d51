//! Fills of memory with a byte.

use std::ffi::{c_int, c_void};

use cuda_sys::CUstream;

use crate::address::address;
use crate::api::{calls_on_device, waited_for};
use crate::driver::cu;
use crate::error::Result;
use crate::types::{cudaExtent, cudaPitchedPtr};

calls_on_device! {
    fn cudaMemset | cudaMemset_ptds [let stream] (
        pointer: *mut c_void,
        value: c_int,
        count: usize,
    ) {
        let now = || match count {
            0 => Ok(()),
            _ => cu::cuMemsetD8_v2(address(pointer), byte(value), count),
        };
        waited_for(stream, now, |stream| bytes(pointer, value, count, stream))
    }
    fn cudaMemsetAsync | cudaMemsetAsync_ptsz [stream] (
        pointer: *mut c_void,
        value: c_int,
        count: usize,
        stream: CUstream,
    ) {
        bytes(pointer, value, count, stream)
    }
    fn cudaMemset2D | cudaMemset2D_ptds [let stream] (
        pointer: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
    ) {
        let now = || match (width, height) {
            (0, _) | (_, 0) => Ok(()),
            _ => cu::cuMemsetD2D8_v2(address(pointer), pitch, byte(value), width, height),
        };
        waited_for(stream, now, |stream| rows(pointer, pitch, value, [width, height], stream))
    }
    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz [stream] (
        pointer: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        stream: CUstream,
    ) {
        rows(pointer, pitch, value, [width, height], stream)
    }
    fn cudaMemset3D | cudaMemset3D_ptds [let stream] (
        memory: cudaPitchedPtr,
        value: c_int,
        extent: cudaExtent,
    ) {
        let now = || each_slice(memory, extent, |slice| {
            cu::cuMemsetD2D8_v2(slice, memory.pitch, byte(value), extent.width, extent.height)
        });
        waited_for(stream, now, |stream| slices(memory, value, extent, stream))
    }
    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz [stream] (
        memory: cudaPitchedPtr,
        value: c_int,
        extent: cudaExtent,
        stream: CUstream,
    ) {
        slices(memory, value, extent, stream)
    }
}

/// The byte that memory is filled with: the value's lowest.
fn byte(value: c_int) -> u8 {
    value.to_le_bytes()[0]
}

/// # Safety
/// The arguments must be what [`cudaMemsetAsync`] asks for.
unsafe fn bytes(pointer: *mut c_void, value: c_int, count: usize, stream: CUstream) -> Result {
    if count == 0 {
        return Ok(());
    }
    // SAFETY: the driver checks the memory.
    unsafe { cu::cuMemsetD8Async(address(pointer), byte(value), count, stream) }
}

/// # Safety
/// The arguments must be what [`cudaMemset2DAsync`] asks for.
unsafe fn rows(
    pointer: *mut c_void,
    pitch: usize,
    value: c_int,
    [width, height]: [usize; 2],
    stream: CUstream,
) -> Result {
    if width == 0 || height == 0 {
        return Ok(());
    }
    // SAFETY: the driver checks the rows.
    unsafe { cu::cuMemsetD2D8Async(address(pointer), pitch, byte(value), width, height, stream) }
}

/// # Safety
/// The arguments must be what [`cudaMemset3DAsync`] asks for.
unsafe fn slices(
    memory: cudaPitchedPtr,
    value: c_int,
    extent: cudaExtent,
    stream: CUstream,
) -> Result {
    let (pitch, [width, height]) = (memory.pitch, [extent.width, extent.height]);
    each_slice(memory, extent, |slice| {
        // SAFETY: the driver checks each slice's rows.
        unsafe { cu::cuMemsetD2D8Async(slice, pitch, byte(value), width, height, stream) }
    })
}

/// Calls `fill` with the address of each slice of a block.
fn each_slice(
    memory: cudaPitchedPtr,
    extent: cudaExtent,
    mut fill: impl FnMut(u64) -> Result,
) -> Result {
    if extent.width == 0 || extent.height == 0 {
        return Ok(());
    }
    let slice = memory.pitch * memory.ysize;
    (0..extent.depth).try_for_each(|index| fill(address(memory.ptr) + (index * slice) as u64))
}
